// SPDX-License-Identifier: Apache-2.0
// The Merkle tree of a gallery. Its root covers all identities with their positions, and every bit
// of the blocks. It is the tree of RFC 6962 (section 2.1). A leaf is hashed behind a byte 0, a node
// behind a byte 1, so that neither can be taken for the other. n leaves are split at the largest
// power of two below n.
//
// A leaf is a block: its checkpoint, the entries that joined since, and its templates' records.
#ifndef HEFT_GALLERY_MERKLE_H_
#define HEFT_GALLERY_MERKLE_H_

#include <cstdint>
#include <functional>
#include <span>

#include "base/bytes.h"
#include "heft/trust.h"

namespace heft {

Digest LeafHash(ByteSpan leaf);
Digest NodeHash(const Digest& left, const Digest& right);

// MerkleRoot: of `count` leaves, `leaf` giving the LeafHash of each, in order; of none, the hash of
// nothing.
Digest MerkleRoot(uint64_t count, const std::function<Digest(uint64_t)>& leaf);

// BlockLeaf: the LeafHash of a block, from the digests in its BlockInfo (gallery/records.h).
Digest BlockLeaf(uint64_t block, const Digest& checkpoint, const Digest& pending,
                 const Digest& roster);

}  // namespace heft

#endif  // HEFT_GALLERY_MERKLE_H_
