#define _GNU_SOURCE
#include "CTrustedAuthority.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Atomic(char *) authority;

void trust_authority(const char *path) {
    atomic_store(&authority, strdup(path));
}

// CURLOPT_CAINFO, which has had this number since there is libcurl.
static const int authority_option = 10065;

// In place of libcurl's function of this name, which it calls.
void *curl_easy_init(void);

void *curl_easy_init(void) {
    void *(*make)(void) = (void *(*)(void))dlsym(RTLD_NEXT, "curl_easy_init");
    int (*set)(void *, int, ...) = (int (*)(void *, int, ...))dlsym(RTLD_NEXT, "curl_easy_setopt");
    if (make == NULL || set == NULL) return NULL;
    void *handle = make();
    char *path = atomic_load(&authority);
    if (handle != NULL && path != NULL) set(handle, authority_option, path);
    return handle;
}
