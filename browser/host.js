// SPDX-License-Identifier: Apache-2.0
// Only for Emscripten's linker: the module's imports. package/core.js provides them.
mergeInto(LibraryManager.library, {heft_host_random: function(bytes, size) {}});
