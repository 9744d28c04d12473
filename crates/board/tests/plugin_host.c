/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/* Stands in for QEMU: offers one version of the plugin interface (VERSION 1 or 2), loads the plugin as QEMU does, and runs
 * blocks of instructions on two processors. Arguments: the plugin, its one argument. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 8
typedef void (*executed_fn)(unsigned vcpu, void *data);
struct call {
	executed_fn call;
	void *data;
};
struct add {
	uint64_t *counter; /* version 1 */
	size_t offset; /* version 2 */
	uint64_t by;
};
struct qemu_plugin_insn {
	uint64_t address;
	struct call calls[MOST];
	struct add adds[MOST];
	int call_count, add_count;
};
struct qemu_plugin_tb {
	struct qemu_plugin_insn insns[4];
	size_t count;
	struct call call;
};

static void (*translated)(uint64_t id, struct qemu_plugin_tb *block);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t, struct qemu_plugin_tb *))
{
	(void)id;
	translated = call;
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed_fn call, int flags,
					  void *data)
{
	(void)flags;
	block->call = (struct call){ call, data };
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn call, int flags,
					    void *data)
{
	(void)flags;
	insn->calls[insn->call_count++] = (struct call){ call, data };
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block)
{
	return block->count;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index)
{
	return (struct qemu_plugin_insn *)&block->insns[index];
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->address;
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return 4;
}

#if VERSION == 1
static void *score;

void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *counter,
						uint64_t by)
{
	(void)op;
	insn->adds[insn->add_count++] = (struct add){ counter, 0, by };
}
#else
/* One row for each processor; a plugin may only ask for it, and may not keep it while rows are added. */
static uint64_t *score;
static size_t row_bytes;

void *qemu_plugin_scoreboard_new(size_t bytes)
{
	row_bytes = bytes;
	return score = calloc(2, bytes);
}

void *qemu_plugin_scoreboard_find(void *of, unsigned vcpu)
{
	return (char *)of + vcpu * row_bytes;
}

struct entry {
	void *score;
	size_t offset;
};

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 struct entry counter, uint64_t by)
{
	(void)op;
	insn->adds[insn->add_count++] = (struct add){ NULL, counter.offset, by };
}
#endif

static void run(struct qemu_plugin_tb *block, unsigned vcpu)
{
	if (block->call.call)
		block->call.call(vcpu, block->call.data);
	for (size_t n = 0; n < block->count; n++) {
		struct qemu_plugin_insn *insn = &block->insns[n];

		for (int c = 0; c < insn->call_count; c++)
			insn->calls[c].call(vcpu, insn->calls[c].data);
		for (int a = 0; a < insn->add_count; a++) {
			struct add *add = &insn->adds[a];
			uint64_t *counter = add->counter;
#if VERSION == 2
			counter = (uint64_t *)((char *)score + vcpu * row_bytes + add->offset);
#endif
			*counter += add->by;
		}
	}
}

static struct qemu_plugin_tb *translate(uint64_t address, size_t count)
{
	struct qemu_plugin_tb *block = calloc(1, sizeof *block);

	block->count = count;
	for (size_t n = 0; n < count; n++)
		block->insns[n].address = address + 4 * n;
	translated(1, block);
	return block;
}

int main(int argc, char **argv)
{
	void *plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int *version = plugin ? dlsym(plugin, "qemu_plugin_version") : NULL;
	int (*install)(uint64_t, const void *, int, char **) =
		plugin ? dlsym(plugin, "qemu_plugin_install") : NULL;
	struct qemu_plugin_tb *caller, *called, *rest;

	if (!version || !install || *version != VERSION) {
		fprintf(stderr, "version %d: %s\n", version ? *version : -1, dlerror());
		return 2;
	}
	if (install(1, NULL, 1, argv + 2) != 0)
		return 3;
	caller = translate(0x1000, 2);
	called = translate(0x1100, 3);
	rest = translate(0x1008, 1);
	/* The other processor runs nothing of the way. */
	run(rest, 1);
	for (int n = 0; n < 2; n++) {
		run(caller, 0);
		run(called, 0);
		run(rest, 0);
	}
	printf("%p\n", (void *)score);
	return 0;
}
