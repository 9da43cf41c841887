#include "kernel/cpu/light_vec_portable.h"

#define BLOCKED_TABLE iso__blocked_portable
#include "kernel/cpu/direct/blocked_body.h"
