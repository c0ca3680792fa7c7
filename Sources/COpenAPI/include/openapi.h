#pragma once

/// Returns the OpenAPI document of the HTTP API: `openapi.json`, ending in a zero byte.
const char *_Nonnull openapi_document(void);
