/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first process of the virtual machine in which tests meet Linux 6.1: it loads the modules, puts the host's files under a
 * file system that discards writes, runs one command and turns the machine off.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_BYTES (1 << 20)
/* Ports appear some time after their driver was loaded. */
#define PORT_TRIES 1000
#define PORT_WAIT_US 10000

static const struct {
	const char *type, *source, *target, *options;
	unsigned long flags;
} mounts[] = {
	{ "proc", "proc", "proc", NULL, 0 },
	{ "sysfs", "sysfs", "sys", NULL, 0 },
	{ "devtmpfs", "devtmpfs", "dev", NULL, 0 },
	{ "tmpfs", "tmpfs", "run", "mode=755", 0 },
	{ "bpf", "bpf", "sys/fs/bpf", NULL, 0 },
	{ "cgroup2", "cgroup2", "sys/fs/cgroup", NULL, 0 },
	{ "tracefs", "tracefs", "sys/kernel/tracing", NULL, 0 },
};

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* The console is the only place to complain. */
static void die(const char *what, const char *which)
{
	printf("init: %s %s: %s\n", what, which, strerror(errno));
	fflush(stdout);
	power_off();
}

static void must_mount(const char *type, const char *source, const char *target, const char *options,
		       unsigned long flags)
{
	mkdir(target, 0755);
	if (mount(source, target, type, flags, options))
		die("cannot mount", target);
}

static void load_modules(void)
{
	struct dirent **names;
	int count = scandir("/modules", &names, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char path[300];
		int fd;

		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
			die("cannot load", path);
		close(fd);
	}
}

/* Written files cover the host's and disappear with the machine. */
static void enter_host_files(void)
{
	must_mount("9p", "host", "/lower", "trans=virtio,version=9p2000.L,msize=512000,cache=loose",
		   MS_RDONLY);
	must_mount("tmpfs", "tmpfs", "/cover", NULL, 0);
	mkdir("/cover/upper", 0755);
	mkdir("/cover/work", 0755);
	must_mount("overlay", "overlay", "/all", "lowerdir=/lower,upperdir=/cover/upper,workdir=/cover/work",
		   0);
	if (chdir("/all"))
		die("cannot enter", "/all");
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++)
		must_mount(mounts[i].type, mounts[i].source, mounts[i].target, mounts[i].options,
			   mounts[i].flags);
	if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		die("cannot move to", "/all");
}

/* The driver's name of a port contains a number of its own, so the port is found by the end of its name. */
static int open_port(const char *pattern)
{
	int fd = -1;

	for (int i = 0; i < PORT_TRIES && fd < 0; i++) {
		glob_t found;

		if (glob(pattern, 0, NULL, &found) == 0) {
			fd = open(found.gl_pathv[0], O_WRONLY | O_CLOEXEC);
			globfree(&found);
		} else {
			usleep(PORT_WAIT_US);
		}
	}
	if (fd < 0)
		die("cannot open", pattern);
	return fd;
}

static void run_command(char *command, int out, int err)
{
	static char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run", NULL
	};
	char *const words[] = { "sh", "-c", command, NULL };
	int in = open("/dev/null", O_RDONLY);

	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	execve("/bin/sh", words, environment);
	_exit(127);
}

/* The exit status as in a shell; orphans that ended are reaped. */
static int wait_for(pid_t child)
{
	int status;
	pid_t ended;

	do {
		ended = wait(&status);
	} while (ended != child && (ended > 0 || errno == EINTR));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *read_command(void)
{
	char *text = calloc(1, COMMAND_BYTES);
	int fd = open("/command", O_RDONLY | O_CLOEXEC);

	if (!text || fd < 0 || read(fd, text, COMMAND_BYTES - 1) <= 0)
		die("cannot read", "/command");
	close(fd);
	return text;
}

int main(void)
{
	char *command = read_command();
	int out, err, status;
	pid_t child;

	must_mount("devtmpfs", "devtmpfs", "/dev", NULL, 0);
	load_modules();
	enter_host_files();
	out = open_port("/dev/vport*p1");
	err = open_port("/dev/vport*p2");
	status = open_port("/dev/vport*p3");
	child = fork();
	if (child == 0)
		run_command(command, out, err);
	dprintf(status, "%d\n", wait_for(child));
	power_off();
}
