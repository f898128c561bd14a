// SPDX-License-Identifier: Apache-2.0
// StateFolder: the folder for this user's state that must outlive the files it is about:
// $HEFT_STATE_DIR, else $XDG_STATE_HOME/heft, else ~/.local/state/heft, else /var/lib/heft.
#ifndef HEFT_BASE_STATE_FOLDER_H_
#define HEFT_BASE_STATE_FOLDER_H_

#include <string>

namespace heft {

std::string StateFolder();

}  // namespace heft

#endif  // HEFT_BASE_STATE_FOLDER_H_
