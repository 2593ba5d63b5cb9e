// Chapter 4: the whole machine, trained.

export const machine = {};
