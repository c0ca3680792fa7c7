// What the Glibc module leaves out of the Linux interface, and one instruction of the processor that Swift has no name for.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <malloc.h>

// The C library declares it for _GNU_SOURCE alone, which the module is built without.
int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);
int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);
int sync_file_range(int descriptor, off_t offset, off_t count, unsigned int flags);

// A function, as the variable is one that Swift would not read: any thread may change it.
extern char **environ;
static inline char **process_environment(void) { return environ; }

// The arguments of `main`, the name of the program first.
int process_argument_count(void);
char **process_arguments(void);

#ifndef SYNC_FILE_RANGE_WRITE
#define SYNC_FILE_RANGE_WAIT_BEFORE 1
#define SYNC_FILE_RANGE_WRITE 2
#define SYNC_FILE_RANGE_WAIT_AFTER 4
#endif

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

// CRC-32C by the processor's instruction, which takes eight bytes at a time. To be called if `has_crc32c` says so.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
bool has_crc32c(void);
uint32_t crc32c_update(uint32_t crc, const uint8_t *bytes, size_t count);

// Schedules the calling thread as one that mostly waits: behind others (nice 2), but in the shortest time slices that Linux
// grants (0.1 ms), so that it gets a busy processor soon after it wakes. Linux before 6.12 ignores the slices; a refusal
// changes nothing.
void schedule_as_waiting(void);
