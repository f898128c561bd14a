# SPDX-License-Identifier: Apache-2.0
# Writes the file IN into OUT as string literals that C++ joins: no compiler takes one of any length.
file(READ "${IN}" text)
string(LENGTH "${text}" length)
set(out "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 part)
  string(APPEND out "R\"HEFT(${part})HEFT\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${OUT}" "${out}")
