// SPDX-License-Identifier: Apache-2.0
// For Emscripten's linker alone: what the module imports. package/core.js is what brings it.
mergeInto(LibraryManager.library, {heft_host_random: function(bytes, size) {}});
