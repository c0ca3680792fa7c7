#include "CLinux.h"
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

// CLinux.h explains the purpose of the function and these values.
static const int minimum_nice = 2;
static const uint64_t time_slice_nanoseconds = 100000;

void schedule_as_waiting(void) {
    static _Thread_local bool is_done;
    if (is_done) return;
    is_done = true;
    // `sched_setattr` replaces all attributes, so the function first reads the attributes that it keeps.
    struct sched_attr attributes = {0};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    if (attributes.sched_nice < minimum_nice) attributes.sched_nice = minimum_nice;
    // For threads without real-time scheduling, Linux takes `sched_runtime` as the time slice.
    attributes.sched_runtime = time_slice_nanoseconds;
    // Threads that the calling thread starts get the default scheduling.
    attributes.sched_flags |= SCHED_FLAG_RESET_ON_FORK;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}
