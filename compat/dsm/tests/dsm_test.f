! SPDX-License-Identifier: Apache-2.0
! libdsm from Fortran: every node writes its number into the part of its neighbour, adds to a common counter, under a
! lock to another, and checks what it finds. Ends with status 1 if something is wrong.
      program dsm_test
      implicit none
      include 'dsmf.inc'
      integer ierror, node, nodes, right, left, i
      integer*8 bytes, address, old, word, lock_sum
      integer*8 values(8)
      character*200 text
      bytes = 4096
      call dsm_init(bytes, ierror)
      call must(ierror)
      call dsm_node(node, ierror)
      call dsm_nodes(nodes, ierror)
      right = mod(node + 1, nodes)
      left = mod(node + nodes - 1, nodes)
      do i = 1, 8
        values(i) = 100 * node + i
      end do
      address = 64
      bytes = 64
      call dsm_write(right, address, values, bytes, ierror)
      call must(ierror)
      call dsm_barrier(ierror)
      call must(ierror)
      call dsm_read(node, address, values, bytes, ierror)
      call must(ierror)
      do i = 1, 8
        if (values(i) .ne. 100 * left + i) stop 1
      end do
      address = 0
      word = 2
      do i = 1, 10
        call dsm_fetch_add(0, address, word, old, ierror)
        call must(ierror)
        call dsm_lock(7, ierror)
        call must(ierror)
        address = 8
        bytes = 8
        call dsm_read(0, address, lock_sum, bytes, ierror)
        lock_sum = lock_sum + 1
        call dsm_write_b(0, address, lock_sum, bytes, ierror)
        call must(ierror)
        call dsm_unlock(7, ierror)
        call must(ierror)
        address = 0
      end do
      call dsm_barrier(ierror)
      bytes = 16
      call dsm_read(0, address, values, bytes, ierror)
      if (values(1) .ne. 20 * nodes .or. values(2) .ne. 10 * nodes) stop 1
      address = 4090
      call dsm_read(0, address, values, bytes, ierror)
      if (ierror .ne. DSM_ERR_RANGE) stop 1
      call dsm_last_error(text)
      if (index(text, 'address 4090') .eq. 0) stop 1
      call dsm_term(ierror)
      call must(ierror)
      end

      subroutine must(ierror)
      integer ierror
      character*200 text
      if (ierror .eq. 0) return
      call dsm_last_error(text)
      write (0, *) text
      stop 1
      end
