// An authority of certificates that URLSession trusts in this process.
//
// On Linux URLSession takes authorities from one file of the system, whatever the environment says. Tests leave that file
// alone: they stand between URLSession and libcurl, and name another file to each handle.

#ifndef TRUSTED_AUTHORITY_H
#define TRUSTED_AUTHORITY_H

// Names the file, with certificates in PEM form, before the first request. The text is copied.
void trust_authority(const char *path);

#endif
