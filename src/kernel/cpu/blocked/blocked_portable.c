#include "kernel/cpu/light_vec_portable.h"

#define BLOCKED_TABLE iso__blocked_portable
#include "kernel/cpu/blocked/blocked_body.h"
