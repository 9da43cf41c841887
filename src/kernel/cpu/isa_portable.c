#include "kernel/cpu/vec_portable.h"

#define PANEL_TABLE iso__isa_portable
#include "kernel/cpu/panel_body.h"
