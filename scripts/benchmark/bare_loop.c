// usage: bare_loop FILE
//
// Sends the contents of FILE after each recv that returns data, without parsing the data. This is the minimal work of a
// server with epoll for a request. Listens on a free port of 127.0.0.1, and prints the port.

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
static size_t response_size;

static int require_success(int result, const char *call) {
    if (result < 0) {
        perror(call);
        exit(1);
    }
    return result;
}

static void register_for_input(int loop, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    require_success(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static int listen_on_loopback(void) {
    int listener = require_success(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    require_success(bind(listener, (struct sockaddr *)&address, length), "bind");
    require_success(listen(listener, 1024), "listen");
    require_success(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void accept_all(int loop, int listener) {
    int client, yes = 1;
    while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        register_for_input(loop, client);
    }
}

static void respond(int client) {
    ssize_t received = recv(client, request, sizeof request, 0);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0 || send(client, response, response_size, MSG_NOSIGNAL) != (ssize_t)response_size) close(client);
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!file || !(response_size = fread(response, 1, sizeof response, file))) {
        fprintf(stderr, "usage: bare_loop FILE (FILE contains the response)\n");
        return 2;
    }
    int loop = require_success(epoll_create1(0), "epoll_create1"), listener = listen_on_loopback();
    register_for_input(loop, listener);
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(loop, events, 256, -1);
        for (int index = 0; index < ready; index++) {
            if (events[index].data.fd == listener) accept_all(loop, listener);
            else respond(events[index].data.fd);
        }
    }
}
