// Compile the second part of the file SELF twice, with REAL as float and as bf16. There F(name) is name_f32 and
// name_bf16.

#undef PASTE
#undef NAMED
#undef F
#define PASTE(name, type) name##_##type
#define NAMED(name, type) PASTE(name, type)
#define F(name) NAMED(name, KIND)

#define REAL float
#define KIND f32
#include SELF
#undef REAL
#undef KIND
#define REAL bf16
#define KIND bf16
#ifdef PAIRS_OF_BF16
#define PAIRED
#endif
#include SELF
#undef REAL
#undef KIND
#undef PAIRED
#undef SELF
