// Chapter 2: the order of words.

export const order = {};
