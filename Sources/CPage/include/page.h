#pragma once

#include <stddef.h>

/// A file of the web page, which the daemon serves under `/ui/`.
struct page_file {
    /// The name, such as `main.js`.
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    /// The number of bytes.
    size_t count;
};

/// Returns the files of the page and sets `count` to their number.
const struct page_file *_Nonnull page_files(size_t *_Nonnull count);
