# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, each a function of a Tree that returns what is wrong, as "path:line: what"."""
