// SPDX-License-Identifier: Apache-2.0
// HEFT_KERNEL_TABLE: a table of the kernels by their own names in the scope of its use: one list
// for the reference, for every instruction set and for the assertions around them.
#ifndef HEFT_RING_KERNEL_TABLE_H_
#define HEFT_RING_KERNEL_TABLE_H_

#define HEFT_KERNEL_TABLE(table_name)                                                              \
  {                                                                                                \
    .name = table_name, .ntt_forward = NttForward, .ntt_forward_tiled = NttForwardTiled,           \
    .ntt_inverse = NttInverse, .add = Add, .subtract = Subtract, .negate = Negate,                 \
    .multiply = Multiply, .multiply_scalar = MultiplyScalar,                                       \
    .subtract_multiply_scalar = SubtractMultiplyScalar, .add_multiply_scalar = AddMultiplyScalar,  \
    .inner_product = InnerProduct, .lift = Lift, .lift_sum = LiftSum, .round_scaled = RoundScaled, \
    .switch_products = SwitchProducts, .permute = Permute, .quotient_tiled = QuotientTiled,        \
    .permute_add = PermuteAdd, .match = Match, .match_tile = MatchTile, .scalar_sums = ScalarSums, \
  }

#endif  // HEFT_RING_KERNEL_TABLE_H_
