#include "openapi.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// The C compiler copies the file into the program. The Swift compiler needs half a minute for a literal of this size.
static const char document[] = {
#embed "openapi.json" suffix(, 0)
};

const char *openapi_document(void) { return document; }
