// A plugin of qemu that counts the instructions of a program and writes the number into the file `into`. The declarations are
// those of version 1 of qemu's interface, whose header Debian does not package.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t Id;
typedef struct qemu_plugin_tb Block;

void qemu_plugin_register_vcpu_tb_trans_cb(Id id, void (*translated)(Id, Block *));
void qemu_plugin_register_vcpu_tb_exec_inline(Block *, int operation, void *number, uint64_t added);
void qemu_plugin_register_atexit_cb(Id id, void (*ended)(Id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const Block *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t count; // of one thread: additions of several would be lost
static char path[4096];

static void translated(Id id, Block *block) {
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &count, qemu_plugin_tb_n_insns(block));
}

static void ended(Id id, void *data) {
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%llu\n", (unsigned long long)count);
    fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(Id id, const void *info, int count_arguments,
                                                               char **arguments) {
    for (int i = 0; i < count_arguments; i++)
        if (!strncmp(arguments[i], "into=", 5)) snprintf(path, sizeof path, "%s", arguments[i] + 5);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
