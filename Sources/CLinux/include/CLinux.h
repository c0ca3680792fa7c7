// What the Glibc module leaves out of the Linux interface. Headers only: nothing here is code of this project.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <fcntl.h>
