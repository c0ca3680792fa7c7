#include "openapi.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// The compiler puts the file into the program as it is. A literal in Swift of this size takes it half a minute.
static const char document[] = {
#embed "openapi.json" suffix(, 0)
};

const char *openapi_document(void) { return document; }
