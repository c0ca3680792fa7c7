// C declarations for Swift: Linux functions that the Glibc module of Swift does not contain, the processor's CRC-32C
// instruction, which Swift cannot call directly, and C functions of this module for the arguments of `main`, scheduling,
// child processes and signals.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/types.h>
#include <malloc.h>

// The C library declares these functions only if _GNU_SOURCE is defined, and this module is built without _GNU_SOURCE.
int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);
int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);
int memfd_create(const char *name, unsigned int flags);
int sync_file_range(int descriptor, off_t offset, off_t count, unsigned int flags);

// Returns the environment. Swift 6 rejects the direct use of `environ`, because it is a mutable global variable.
extern char **environ;
static inline char **process_environment(void) { return environ; }

// The number of arguments of `main`, and the arguments. The first argument is the name of the program. Swift's
// `CommandLine.arguments` is empty if /proc is not mounted.
int process_argument_count(void);
char **process_arguments(void);

#ifndef SYNC_FILE_RANGE_WRITE
#define SYNC_FILE_RANGE_WAIT_BEFORE 1
#define SYNC_FILE_RANGE_WRITE 2
#define SYNC_FILE_RANGE_WAIT_AFTER 4
#endif

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

// `crc32c_update` adds bytes to a CRC-32C with a processor instruction. Call it only if `has_crc32c` returns true.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
bool has_crc32c(void);
uint32_t crc32c_update(uint32_t crc, const uint8_t *bytes, size_t count);

// Sets the scheduling of the calling thread, which mostly waits. Nice level 2 gives the thread less processor time than
// other threads get. A time slice of 0.1 ms, the shortest that Linux allows, lets the thread run soon after it wakes, even
// on a busy processor. Linux before 6.12 ignores the time slice. The function ignores errors.
void schedule_as_waiting(void);

// Starts a program with an environment; `arguments[0]` is its path, or its name in PATH of this process. Returns 0 and
// the process ID, or the `errno` of the call that failed. The kernel kills the program when the calling thread ends,
// so the thread must live as long as this process. The program starts without blocked signals, and with the default
// action of each signal that this process handles.
int start_bound_program(char *const *arguments, char *const *environment, pid_t *process);

// Returns a descriptor that is readable after the process has ended, or -1 with `errno`. Replaces
// `pidfd_open`, which GNU libc has since version 2.36.
int open_process_descriptor(pid_t process);

// Installs a handler for each of the signals. A signal that the process ignores stays ignored, except SIGCHLD. Returns a
// descriptor from which the calling code reads two bytes for each arrival of a signal: the number of the signal, and 1 if the
// kernel sent the signal, for example because of Ctrl-C, or 0 if a process sent it, or for SIGCHLD. Returns -1 with `errno`
// after an error. May be called once.
int note_signals(const int *numbers, size_t count);
