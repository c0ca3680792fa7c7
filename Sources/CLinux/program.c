#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs in the child process. Between `fork` and `exec`, only async-signal-safe functions are allowed, because other
// threads of the parent process may have held locks.
static int execute(char *const *arguments, char *const *environment, pid_t parent) {
    // Remove the signal handlers of the parent process. Otherwise a handler could run in this process between the change of
    // the signal mask and `exec`.
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        signal(number, SIG_DFL);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    // If the parent process ended before `prctl`, the kernel sends no signal.
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvpe(arguments[0], arguments, environment);
    return errno;
}

int start_bound_program(char *const *arguments, char *const *environment, pid_t *process) {
    // `exec` closes the pipe. If `exec` fails, the child process writes `errno` to the pipe.
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    pid_t parent = getpid();
    sigset_t all_signals, previous_mask;
    sigfillset(&all_signals);
    pthread_sigmask(SIG_SETMASK, &all_signals, &previous_mask);
    *process = fork();
    int code = *process < 0 ? errno : 0;
    if (*process == 0) {
        code = execute(arguments, environment, parent);
        _exit(write(ends[1], &code, sizeof code) < 0);
    }
    pthread_sigmask(SIG_SETMASK, &previous_mask, NULL);
    close(ends[1]);
    if (*process > 0) {
        while (read(ends[0], &code, sizeof code) < 0 && errno == EINTR) {}
        if (code != 0) {
            while (waitpid(*process, NULL, 0) < 0 && errno == EINTR) {}
        }
    }
    close(ends[0]);
    return code;
}

int open_process_descriptor(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// The write end of the pipe of `note_signals`.
static int notes_write_end;

// The signal handler, which writes a note of two bytes to the pipe: the number of the signal, and 1 if the kernel sent the
// signal, or 0 if a process sent it. SIGCHLD has 0, because its `si_code` says how the child process changed.
static void note(int number, siginfo_t *information, void *context) {
    (void)context;
    int code = errno;
    unsigned char bytes[2] = {number, information->si_code == SI_KERNEL};
    // If the pipe is full, this note is lost. The pipe then contains thousands of notes, so the process is woken anyway.
    ssize_t written = write(notes_write_end, bytes, sizeof bytes);
    (void)written;
    errno = code;
}

int note_signals(const int *numbers, size_t count) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    notes_write_end = ends[1];
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP};
    sigfillset(&action.sa_mask);
    for (size_t index = 0; index < count; index++) {
        struct sigaction previous;
        sigaction(numbers[index], NULL, &previous);
        // A process that ignores SIGCHLD cannot wait for its children.
        if (previous.sa_handler == SIG_IGN && numbers[index] != SIGCHLD) continue;
        sigaction(numbers[index], &action, NULL);
    }
    return ends[0];
}
