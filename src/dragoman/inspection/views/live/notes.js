// What a report says about the positions and the parts of logits of a model: inspection/positions.py and terms.py.

export const OF_POSITIONS = {
    sinusoidal: "Added to the embeddings: a sine and a cosine for each frequency (section 3.5).",
    "sinusoidal-halves": "Added to the embeddings: all sines, then all cosines (section 3.5).",
    "sinusoidal-t2t": "Added to the embeddings: all sines, then all cosines. The frequencies differ a little from "
        + "section 3.5. They are 10000^(-i / (d_model/2 - 1)), as in Tensor2Tensor and Marian.",
    learned: "Added to the embeddings: a vector learned for each position.",
    "learned-apart": "Added to the embeddings: a vector learned for each position of source and of target.",
    index: "The number of the position replaces the last dimension of the embedding.",
    fraction: "Position / source length replaces the last dimension of the embedding.",
    none: "The model has no positions.",
    relative: "A vector learned for each distance is added to keys and to values (Shaw et al. 2018).",
    t5: "A number for each head and range of distances is added to the logits (Raffel et al. 2020).",
    alibi: "The logits fall with the distance, with a fixed slope for each head (Press et al. 2022).",
    rotary: "Pairs of dimensions of queries and keys are rotated with the position (Su et al. 2021).",
};

const WITHIN = {
    rotary: "Rotary positions rotate queries and keys, so they are part of content·content.",
    relative: "Relative positions add the bias, which depends on content too.",
    t5: "Positions add the bias.",
    alibi: "Positions add the bias.",
    none: "The model has no positions.",
};

/** The note on the terms of a layer. */
export function noteOfTerms(layer, normed, positions) {
    const note = layer ? "Earlier layers mix content and position. Their contribution is the remainder. "
            + "Normalisations keep the scale they had for this sentence."
        : normed ? "A normalisation precedes the first attention. Its scale depends on content and position together, and "
            + "is fixed at its value for this sentence. With this scale the terms add up to the logit."
            : "The sum of the terms is the logit.";
    return [note, WITHIN[positions]].filter(Boolean).join(" ");
}
