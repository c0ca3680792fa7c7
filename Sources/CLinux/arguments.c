#include "CLinux.h"

static int count;
static char **arguments;

// The GNU C library calls this function before `main`, with the arguments of `main`.
__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
    count = argc;
    arguments = argv;
}

int process_argument_count(void) { return count; }
char **process_arguments(void) { return arguments; }
