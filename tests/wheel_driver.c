// Loads the engine's library, as Python does, and multiplies with each type of weights. Prints the instructions in use.
// Built for each platform by tests/test_wheels.py.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>
#define OPEN(path) LoadLibraryA(path)
#define FIND(library, name) GetProcAddress(library, name)
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif

enum { ROWS = 3, INPUTS = 70, OUTPUTS = 37, WIDE = 48 };  // outputs are padded to a multiple of 16

int main(int count, char **words) {
    void *library = count > 1 ? (void *)OPEN(words[1]) : NULL;
    if (!library) return fprintf(stderr, "cannot load the library\n"), 2;
    const void *(*find)(const char *, const char **) = (void *)FIND(library, "dragoman_kernels_find");
    const char *(*instructions)(char *, int64_t) = (void *)FIND(library, "dragoman_instructions");
    void *(*pack)(int, int, const void *, const float *, int64_t, int64_t, const float *, float) =
        (void *)FIND(library, "dragoman_kernels_pack");
    int64_t (*product)(const void *, const void *, const float *, int64_t, int64_t, int64_t, int64_t, float *, int64_t) =
        (void *)FIND(library, "dragoman_kernels_product");
    void (*release)(void *) = (void *)FIND(library, "dragoman_kernels_free");
    if (!find || !instructions || !pack || !product || !release || !FIND(library, "dragoman_open"))
        return fprintf(stderr, "functions are missing\n"), 3;

    float x[ROWS * INPUTS], w[OUTPUTS * INPUTS], out[ROWS * WIDE];
    for (int i = 0; i < ROWS * INPUTS; i++) x[i] = sinf(i);
    for (int i = 0; i < OUTPUTS * INPUTS; i++) w[i] = cosf(3 * i);
    const char *message = NULL;
    const void *level = find(NULL, &message);
    if (!level) return fprintf(stderr, "%s\n", message), 4;
    const double allowed[] = {1e-4, 0.2, 0.5};  // float32, bfloat16, int8
    for (int type = 0; type < 3; type++) {
        void *packed = pack(type, 0, w, NULL, OUTPUTS, INPUTS, NULL, 0);
        product(level, packed, x, INPUTS, ROWS, 0, -1, out, WIDE);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < OUTPUTS; o++) {
                double sum = 0;
                for (int i = 0; i < INPUTS; i++) sum += (double)x[r * INPUTS + i] * w[o * INPUTS + i];
                if (!(fabs(out[r * WIDE + o] - sum) <= allowed[type]))
                    return fprintf(stderr, "type %d: %g, not %g\n", type, out[r * WIDE + o], sum), 5;
            }
        release(packed);
    }
    printf("%s\n", instructions(NULL, 0));
    return 0;
}
