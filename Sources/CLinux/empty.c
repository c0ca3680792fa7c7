// The package manager wants a source file in a C target.
#include "CLinux.h"
