// Chapter 5: before and since.

export const since = {};
