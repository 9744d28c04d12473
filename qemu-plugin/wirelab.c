/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/* Counts the instructions of a machine in QEMU, and records where it is while a frame passes through it.
 *
 * One argument, shm=FILE, names the memory that this plugin shares with wirelab (crates/board/src/machine/ring.rs has the
 * same layout): named points and functions, which wirelab writes before QEMU starts, and a ring of records. While wirelab
 * has armed the plugin, each pass of a point is recorded. From the first point of a path to its last, so is each step from
 * one function into another: wirelab derives calls, returns and interrupts from these steps. No register is read.
 *
 * If wirelab requests it, the machine stops after the last point of a path, and once it is at rest. Whatever arrives during
 * a stop, such as the next frame, arrives at the same instruction in each run.
 *
 * One file serves the plugin interfaces of QEMU 7.2 to 10. The declarations are its own, because distributions do not
 * package the header; functions that only some versions have are weak.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The plugin interface. QEMU 7.2 to 8.2 have version 1; QEMU 9.0 and later have newer ones, and all accept version 2. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} plugin_u64;
typedef void (*translated_fn)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*executed_fn)(unsigned vcpu, void *data);
struct info {
	const char *target;
	struct {
		int least, current;
	} version;
	bool is_system;
	int vcpus;
};
enum { NO_REGISTERS = 0, ADD = 0, LOADS = 1, STORES = 2 };

#define WEAK __attribute__((weak))
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated_fn call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed_fn call, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn call, int flags,
					    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* Version 1. */
WEAK void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *counter,
						     uint64_t add);
WEAK void qemu_plugin_register_vcpu_mem_inline(struct qemu_plugin_insn *insn, int which, int op,
					       void *counter, uint64_t add);
/* Version 2. */
WEAK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
WEAK void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned vcpu);
WEAK void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							      plugin_u64 counter, uint64_t add);
WEAK void qemu_plugin_register_vcpu_mem_inline_per_vcpu(struct qemu_plugin_insn *insn, int which, int op,
							plugin_u64 counter, uint64_t add);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv);

/* The shared memory: a header, then points, functions and records, as many as the header says. */
#define MAGIC 0x51574c31u
enum { HEADER_BYTES = 128, MOST_VCPUS = 64, BLOCKS = 1 << 18 };
enum { POINT_BEGINS = 1, POINT_ENDS = 2 }; /* of a path, on which steps are recorded */
/* Where the machine stops: at the instruction, or after the return of the function there, which may be one that gives work
 * to a device (KICKS); and where it goes to sleep. */
enum { POINT_STANDS = 4, POINT_STANDS_BEHIND = 8, POINT_SLEEPS = 16, POINT_KICKS = 32 };
enum { STOP_POINT = 1, STOP_KICK = 2, STOP_REST = 3 };
enum { WANT_KINDS = 1 };
enum { RECORD_POINT = 1, RECORD_STEP = 2 };

struct header {
	uint32_t magic;
	uint32_t points, functions, records; /* records is a power of two */
	uint32_t wanted;
	_Atomic uint32_t loaded; /* the interface version, once the plugin runs */
	_Atomic uint32_t armed; /* 0, or a new number each time that wirelab arms it */
	_Atomic uint32_t vcpus; /* how many have run */
	_Atomic uint32_t blocks_lost; /* translations that did not fit into `blocks` */
	uint32_t unused;
	_Atomic uint64_t head, tail; /* running numbers of records: written here, read by wirelab */
	_Atomic uint64_t lost; /* records that did not fit */
	_Atomic uint64_t now; /* instructions so far, updated at each block */
	_Atomic uint32_t stops; /* number of stops, with the current one; written here */
	_Atomic uint32_t released; /* the last stop that wirelab has ended */
	_Atomic uint32_t wants_stops; /* whether it stops at points */
	_Atomic uint32_t
		wants_rest; /* a new number each time that wirelab requests a stop once it is at rest */
	_Atomic uint32_t rested; /* the last of these numbers for which it stopped */
	uint32_t sleeps; /* it is at rest after it went to sleep this many times, */
	uint32_t idle; /* or after this many instructions */
	_Atomic uint32_t reason; /* of the last stop */
};

struct point {
	uint64_t at;
	uint32_t number, flags;
};

struct function {
	uint64_t start, end;
};

struct record {
	uint64_t count; /* instructions before this one */
	uint64_t at; /* where the machine is */
	uint64_t from; /* end of the previous block: the return address of a call */
	uint32_t loads, stores, branches;
	uint16_t vcpu;
	uint8_t kind, point;
};

_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header has its place");
_Static_assert(sizeof(struct record) == 40, "records are as wirelab reads them");

/* A translated block. QEMU keeps pointers to it, so it is never freed; equal blocks share one. */
struct block {
	uint64_t start, end;
	uint32_t function;
	bool begins_function;
	uint8_t stands_behind; /* the reason for the stop after its function, or 0 */
};

struct counts {
	uint64_t instructions, loads, stores;
};

static struct header *shared;
static const struct point *points;
static const struct function *functions;
static struct record *ring;
static uint32_t point_count, function_count, record_count;
static bool kinds;

static struct block blocks[BLOCKS];
static uint32_t blocks_used;
static struct block anywhere = { .function = UINT32_MAX };
static const struct block *last[MOST_VCPUS];
static uint32_t branches[MOST_VCPUS];
static _Atomic uint32_t flight; /* `armed` when the first point of a path was passed; 0 outside */
static uint64_t return_to; /* where it stops next, when the function of a point returns, */
static uint8_t return_reason; /* and why */
static uint32_t rest_asked, rest_met; /* the last wants_rest that was seen, and for which it stopped */
static uint32_t slept; /* how often since rest_asked changed */
static uint64_t rest_since; /* the instructions at that time */
static uint64_t written, read_so_far; /* head, and the tail when last read */
static bool has_more = true; /* there may be several processors, of which one may write at a time */
static atomic_flag writing = ATOMIC_FLAG_INIT;

static struct counts all_vcpus; /* interface version 1 has no counter for each processor */
static struct qemu_plugin_scoreboard *score;

static const struct counts *counts_of(unsigned vcpu)
{
	return score ? qemu_plugin_scoreboard_find(score, vcpu) : &all_vcpus;
}

/* Whether another record fits; the reader's place is only read when necessary. */
static bool has_room(void)
{
	if (written - read_so_far < record_count)
		return true;
	read_so_far = atomic_load_explicit(&shared->tail, memory_order_acquire);
	return written - read_so_far < record_count;
}

static void record(uint8_t kind, uint8_t point, unsigned vcpu, uint64_t at, uint64_t from)
{
	const struct counts *counts = counts_of(vcpu);

	while (has_more && atomic_flag_test_and_set_explicit(&writing, memory_order_acquire))
		;
	if (!has_room()) {
		atomic_fetch_add_explicit(&shared->lost, 1, memory_order_relaxed);
	} else {
		ring[written & (record_count - 1)] = (struct record){
			.count = counts->instructions,
			.at = at,
			.from = from,
			.loads = (uint32_t)counts->loads,
			.stores = (uint32_t)counts->stores,
			.branches = branches[vcpu],
			.vcpu = (uint16_t)vcpu,
			.kind = kind,
			.point = point,
		};
		written++;
		atomic_store_explicit(&shared->head, written, memory_order_release);
	}
	if (has_more)
		atomic_flag_clear_explicit(&writing, memory_order_release);
}

static uint32_t armed(void)
{
	return atomic_load_explicit(&shared->armed, memory_order_acquire);
}

/* The processor waits here until wirelab releases it. QEMU's other threads continue, so frames arrive. Timers do not
 * expire, because virtual time advances with instructions. */
static void stand(uint32_t reason)
{
	static const struct timespec pause = { .tv_nsec = 10000 };
	uint32_t number;

	atomic_store_explicit(&shared->reason, reason, memory_order_relaxed);
	number = atomic_fetch_add_explicit(&shared->stops, 1, memory_order_release) + 1;
	/* Another processor may have stopped as well by then; both are released at once. */
	while ((int32_t)(atomic_load_explicit(&shared->released, memory_order_acquire) - number) < 0)
		nanosleep(&pause, NULL);
}

static bool stands_at_points(void)
{
	return atomic_load_explicit(&shared->wants_stops, memory_order_relaxed) != 0;
}

/* Whether a stop at rest is requested. Sleeps and instructions count from the first look at a request. */
static bool is_to_rest(unsigned vcpu)
{
	uint32_t number = atomic_load_explicit(&shared->wants_rest, memory_order_acquire);

	if (number == rest_met)
		return false;
	if (number != rest_asked) {
		rest_asked = number;
		slept = 0;
		rest_since = counts_of(vcpu)->instructions;
	}
	return true;
}

static void rest(void)
{
	rest_met = rest_asked;
	atomic_store_explicit(&shared->rested, rest_met, memory_order_relaxed);
	stand(STOP_REST);
}

static void at_sleep(unsigned vcpu)
{
	if (is_to_rest(vcpu) && ++slept >= shared->sleeps)
		rest();
}

static void at_point(unsigned vcpu, void *data)
{
	const struct point *point = data;
	uint32_t number = armed();

	if (vcpu >= MOST_VCPUS)
		return;
	if (point->flags & POINT_SLEEPS) {
		at_sleep(vcpu);
		return;
	}
	if (number != 0 && !(point->flags & POINT_STANDS_BEHIND)) {
		if (point->flags & POINT_BEGINS)
			atomic_store_explicit(&flight, number, memory_order_relaxed);
		record(RECORD_POINT, (uint8_t)point->number, vcpu, point->at, 0);
		if (point->flags & POINT_ENDS)
			atomic_store_explicit(&flight, 0, memory_order_relaxed);
	}
	if (point->flags & POINT_STANDS && stands_at_points())
		stand(STOP_POINT);
}

static void first_of_vcpu(unsigned vcpu)
{
	uint32_t most = atomic_load(&shared->vcpus);

	while (most <= vcpu && !atomic_compare_exchange_weak(&shared->vcpus, &most, vcpu + 1))
		;
}

/* At a block: the function of a point has returned here, or the machine has run long enough to be at rest. */
static __attribute__((noinline)) void stand_if_asked(const struct block *block, const struct block *before,
						     unsigned vcpu)
{
	if (block->stands_behind) {
		return_to = before->end;
		return_reason = block->stands_behind;
	} else if (return_to != 0 && block->start == return_to) {
		return_to = 0;
		if (stands_at_points())
			stand(return_reason);
	}
	if (is_to_rest(vcpu) && counts_of(vcpu)->instructions - rest_since >= shared->idle)
		rest();
}

static void at_block(unsigned vcpu, void *data)
{
	const struct block *block = data, *before;
	uint32_t number;

	if (vcpu >= MOST_VCPUS)
		return;
	before = last[vcpu];
	last[vcpu] = block;
	atomic_store_explicit(&shared->now, counts_of(vcpu)->instructions, memory_order_relaxed);
	if (!before) {
		first_of_vcpu(vcpu);
		return;
	}
	number = atomic_load_explicit(&flight, memory_order_relaxed);
	if (number != 0) {
		branches[vcpu] += block->start != before->end;
		if ((block->begins_function || block->function != before->function) && number == armed())
			record(RECORD_STEP, 0, vcpu, block->start, before->end);
	}
	if (block->stands_behind || block->start == return_to ||
	    atomic_load_explicit(&shared->wants_rest, memory_order_acquire) != rest_met)
		stand_if_asked(block, before, vcpu);
}

/* The function that contains an address: the last one that begins at or before it, if it is long enough. */
static uint32_t function_at(uint64_t address)
{
	uint32_t low = 0, high = function_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < functions[low - 1].end ? low - 1 : UINT32_MAX;
}

static const struct point *point_at(uint64_t address, const struct point *from)
{
	for (; from < points + point_count; from++)
		if (from->at == address)
			return from;
	return NULL;
}

static uint8_t stands_behind(uint64_t function)
{
	for (const struct point *at = point_at(function, points); at; at = point_at(function, at + 1))
		if (at->flags & POINT_STANDS_BEHIND)
			return at->flags & POINT_KICKS ? STOP_KICK : STOP_POINT;
	return 0;
}

static struct block *block_of(uint64_t start, uint64_t end)
{
	uint32_t slot = (uint32_t)((start * 0x9E3779B97F4A7C15u ^ end * 0xC2B2AE3D27D4EB4Fu) >> 40) % BLOCKS;

	/* A quarter stays free, so that the search is short and ends. */
	for (;; slot = (slot + 1) % BLOCKS) {
		struct block *block = &blocks[slot];

		if (block->start == start && block->end == end)
			return block;
		if (block->end != 0)
			continue;
		if (blocks_used >= BLOCKS / 4 * 3) {
			atomic_fetch_add(&shared->blocks_lost, 1);
			return &anywhere;
		}
		blocks_used++;
		block->start = start;
		block->end = end;
		block->function = function_at(start);
		block->begins_function =
			block->function != UINT32_MAX && functions[block->function].start == start;
		block->stands_behind = stands_behind(start);
		return block;
	}
}

static void count(struct qemu_plugin_insn *insn)
{
	if (!score) {
		qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &all_vcpus.instructions, 1);
		if (kinds) {
			qemu_plugin_register_vcpu_mem_inline(insn, LOADS, ADD, &all_vcpus.loads, 1);
			qemu_plugin_register_vcpu_mem_inline(insn, STORES, ADD, &all_vcpus.stores, 1);
		}
		return;
	}
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
		insn, ADD, (plugin_u64){ score, offsetof(struct counts, instructions) }, 1);
	if (kinds) {
		qemu_plugin_register_vcpu_mem_inline_per_vcpu(
			insn, LOADS, ADD, (plugin_u64){ score, offsetof(struct counts, loads) }, 1);
		qemu_plugin_register_vcpu_mem_inline_per_vcpu(
			insn, STORES, ADD, (plugin_u64){ score, offsetof(struct counts, stores) }, 1);
	}
}

/* QEMU translates under a lock, so that one thread at a time is here. */
static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn;
	uint64_t start = 0, address = 0;

	(void)id;
	for (size_t n = 0; n < insns; n++) {
		insn = qemu_plugin_tb_get_insn(tb, n);
		address = qemu_plugin_insn_vaddr(insn);
		if (n == 0)
			start = address;
		/* Before the instruction is counted, so that a point sees the count before it. */
		for (const struct point *point = point_at(address, points); point;
		     point = point_at(address, point + 1))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_point, NO_REGISTERS, (void *)point);
		count(insn);
		address += qemu_plugin_insn_size(insn);
	}
	if (insns > 0)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, at_block, NO_REGISTERS, block_of(start, address));
}

/* QEMU reads the version after this has run and before it installs the plugin. */
__attribute__((constructor)) static void choose_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = 2;
}

static bool share(const char *file)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	struct stat about;
	uint64_t bytes;

	if (fd < 0 || fstat(fd, &about) != 0 || about.st_size < HEADER_BYTES)
		return false;
	shared = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return false;
	point_count = shared->points;
	function_count = shared->functions;
	record_count = shared->records;
	bytes = HEADER_BYTES + sizeof(struct point) * (uint64_t)point_count +
		sizeof(struct function) * (uint64_t)function_count +
		sizeof(struct record) * (uint64_t)record_count;
	if (shared->magic != MAGIC || bytes > (uint64_t)about.st_size || record_count == 0 ||
	    (record_count & (record_count - 1)) != 0)
		return false;
	kinds = shared->wanted & WANT_KINDS;
	points = (const struct point *)((char *)shared + HEADER_BYTES);
	functions = (const struct function *)(points + point_count);
	ring = (struct record *)(functions + function_count);
	return true;
}

int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv)
{
	static const char name[] = "shm=";

	if (argc != 1 || strncmp(argv[0], name, sizeof name - 1) != 0 || !share(argv[0] + sizeof name - 1)) {
		fprintf(stderr, "wirelab's plugin: no memory to share; fix: let wirelab start QEMU\n");
		return -1;
	}
	has_more = !info || !info->is_system || info->vcpus != 1;
	if (qemu_plugin_version == 2)
		score = qemu_plugin_scoreboard_new(sizeof(struct counts));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	atomic_store(&shared->loaded, (uint32_t)qemu_plugin_version);
	return 0;
}
