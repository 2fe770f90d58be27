// Version of the library and the inline namespace in which everything lives.
#pragma once

#define DTDEBUG_VERSION_MAJOR 0
#define DTDEBUG_VERSION_MINOR 1
#define DTDEBUG_VERSION_PATCH 0
#define DTDEBUG_VERSION_STRING "0.1.0"

// On and off live in different inline namespaces: a program that mixes both keeps each file's own
// behaviour or fails to link; it never gets one file's body of an inline function in the other.
#if defined(DTDEBUG)
#define DTDEBUG_ABI v1
#else
#define DTDEBUG_ABI v1_off
#endif
