/* What test_h5_plugin and the plugin that it must not load know together. */
#ifndef H5_PLUGIN_H
#define H5_PLUGIN_H

enum { H5_PLUGIN_FILTER = 33334 };

/* The plugin sets this variable of the environment when it is loaded. */
#define H5_PLUGIN_MARK "ISO_TEST_H5_PLUGIN"

#endif
