// Chapter 3: attention.

export const attention = {};
