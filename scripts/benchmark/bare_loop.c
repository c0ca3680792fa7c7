// Answers whatever arrives with the same bytes, without reading it further: the least that a server over epoll does for a
// request. bare_loop FILE sends what FILE holds; prints the port of 127.0.0.1 that it listens on.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static char response[1 << 20], request[1 << 16];
static size_t size;

static int checked(int result, const char *call) {
    if (result < 0) {
        perror(call);
        exit(1);
    }
    return result;
}

static void watch(int loop, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    checked(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static int listen_on_loopback(void) {
    int listener = checked(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    checked(bind(listener, (struct sockaddr *)&address, length), "bind");
    checked(listen(listener, 1024), "listen");
    checked(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void accept_all(int loop, int listener) {
    int client, yes = 1;
    while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        watch(loop, client);
    }
}

static void answer(int client) {
    ssize_t received = recv(client, request, sizeof request, 0);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0 || send(client, response, size, MSG_NOSIGNAL) != (ssize_t)size) close(client);
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!file || !(size = fread(response, 1, sizeof response, file))) {
        fprintf(stderr, "usage: bare_loop FILE, with the response in it\n");
        return 2;
    }
    int loop = checked(epoll_create1(0), "epoll_create1"), listener = listen_on_loopback();
    watch(loop, listener);
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(loop, events, 256, -1);
        for (int index = 0; index < ready; index++) {
            if (events[index].data.fd == listener) accept_all(loop, listener);
            else answer(events[index].data.fd);
        }
    }
}
