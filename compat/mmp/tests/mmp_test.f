! SPDX-License-Identifier: Apache-2.0
! libmmp from Fortran: every call, and that errors come back with their words. Ends with status 1 if something is wrong.
      program mmp_test
      implicit none
      include 'mmpf.inc'
      integer many
      parameter (many = 10)
      integer ierror, rank, ranks, right, left, i, done, found
      integer source, tag, index, values(many), got(many)
      integer*8 bytes, request, requests(many + 1), used, bound
      double precision start, big(100000), back(100000)
      character*120 text
      integer*8 address
      double precision shared(100000)
      pointer (address, shared)
      common /data/ values, got, big, back

      call mp_rank(rank, ierror)
      if (ierror .ne. MP_ERR_STATE) stop 2
      call mp_init(ierror)
      call must(ierror)
      start = mp_time()
      call mp_rank(rank, ierror)
      call mp_size(ranks, ierror)
      call must(ierror)
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)

! a large array round the ring
      do i = 1, 100000
        big(i) = rank + i * 1.0d-6
      end do
      bytes = 800000
      call mp_receive(left, 1, back, bytes, requests(1), ierror)
      call must(ierror)
      call mp_send(right, 1, big, bytes, request, ierror)
      call must(ierror)
      bytes = 0
      call mp_wait(requests(1), source, tag, bytes, ierror)
      call must(ierror)
      if (source .ne. left .or. tag .ne. 1) stop 3
      if (bytes .ne. 800000) stop 4
      call mp_wait(request, source, tag, bytes, ierror)
      call must(ierror)
      do i = 1, 100000
        if (back(i) .ne. left + i * 1.0d-6) stop 5
      end do

! the same out of memory that the node shares
      bytes = 800000
      call mp_alloc(bytes, address, ierror)
      call must(ierror)
      do i = 1, 100000
        shared(i) = rank + i * 2.0d-6
      end do
      call mp_receive(left, 2, back, bytes, requests(1), ierror)
      call must(ierror)
      call mp_send(right, 2, shared, bytes, request, ierror)
      call must(ierror)
      call mp_wait(requests(1), source, tag, bytes, ierror)
      call must(ierror)
      call mp_wait(request, source, tag, bytes, ierror)
      call must(ierror)
      do i = 1, 100000
        if (back(i) .ne. left + i * 2.0d-6) stop 27
      end do
      call mp_free(address, ierror)
      call must(ierror)
      call mp_free(address, ierror)
      if (ierror .ne. MP_ERR_ADDRESS) stop 28

! many small ones: any of them, then all
      bytes = 4
      do i = 1, many
        call mp_receive(MP_ANY_SOURCE, i, got(i), bytes, requests(i),
     &                  ierror)
        call must(ierror)
      end do
      requests(many + 1) = MP_REQUEST_NULL
      call mp_barrier(ierror)
      call must(ierror)
      do i = many, 1, -1
        values(i) = 1000 * rank + i
        call mp_send(right, i, values(i), bytes, request, ierror)
        call must(ierror)
        call mp_wait_for(request, 20.0d0, source, tag, bytes, ierror)
        call must(ierror)
      end do
      call mp_wait_any(many + 1, requests, index, source, tag, bytes,
     &                 ierror)
      call must(ierror)
      if (index .lt. 1 .or. index .gt. many) stop 6
      if (tag .ne. index .or. source .ne. left) stop 7
      call mp_wait_all(many + 1, requests, ierror)
      call must(ierror)
      do i = 1, many
        if (got(i) .ne. 1000 * left + i) stop 8
        if (requests(i) .ne. MP_REQUEST_NULL) stop 9
      end do
      call mp_wait_any(many, requests, index, source, tag, bytes,
     &                 ierror)
      call must(ierror)
      if (index .ne. 0) stop 10

! probe, look, test
      call mp_look(left, 77, found, source, tag, bytes, ierror)
      call must(ierror)
      if (found .ne. 0) stop 11
      call mp_barrier(ierror)
      bytes = 40
      call mp_send(right, 77, values, bytes, request, ierror)
      call must(ierror)
      call mp_probe(MP_ANY_SOURCE, 77, source, tag, bytes, ierror)
      call must(ierror)
      if (source .ne. left .or. tag .ne. 77 .or. bytes .ne. 40) stop 12
      call mp_look(left, MP_ANY_TAG, found, source, tag, bytes, ierror)
      if (found .ne. 1) stop 13
      call mp_receive(left, 77, got, bytes, requests(1), ierror)
      call must(ierror)
      done = 0
      do while (done .eq. 0)
        call mp_test(requests(1), done, source, tag, bytes, ierror)
        call must(ierror)
      end do
      if (got(3) .ne. 1000 * left + 3) stop 14
      call mp_wait(request, source, tag, bytes, ierror)
      call must(ierror)

! errors
      call mp_wait(request, source, tag, bytes, ierror)
      if (ierror .ne. MP_ERR_REQUEST) stop 15
      call mp_send(ranks, 0, values, bytes, request, ierror)
      if (ierror .ne. MP_ERR_RANK) stop 16
      call mp_last_error(text)
      if (.not. begins(text, 'MP_send: rank ')) stop 17
      call mp_strerror(MP_ERR_TAG, text)
      if (text .ne. 'this is no tag of a message') stop 18
      bytes = -1
      call mp_send(0, 0, values, bytes, request, ierror)
      if (ierror .ne. MP_ERR_INVALID) stop 19
      call mp_receive(0, 0, values, bytes, request, ierror)
      if (ierror .ne. MP_ERR_INVALID) stop 20
      bytes = 4
      call mp_receive(left, 5, got, bytes, request, ierror)
      call must(ierror)
      call mp_wait_for(request, 0.01d0, source, tag, bytes, ierror)
      if (ierror .ne. MP_ERR_TIMEOUT) stop 21
      call mp_cancel(request, ierror)
      call must(ierror)
      call mp_wait(request, source, tag, bytes, ierror)
      if (ierror .ne. MP_ERR_CANCELLED) stop 22
      call mp_set_timeout(0.01d0, ierror)
      call must(ierror)
      call mp_probe(left, 5, source, tag, bytes, ierror)
      if (ierror .ne. MP_ERR_TIMEOUT) stop 23
      call mp_set_timeout(MP_FOREVER, ierror)
      call must(ierror)
      call mp_memory(used, bound, ierror)
      call must(ierror)
      if (used .lt. 0 .or. used .gt. bound) stop 24
      if (mp_time() .le. start) stop 25
      call mp_fragment(right, bytes, ierror)
      call must(ierror)
      if (bytes .lt. 1280 .or. bytes .gt. 262112) stop 26
      call mp_barrier(ierror)
      call must(ierror)
      call mp_finalize(ierror)
      call must(ierror)
      if (rank .eq. 0) print *, 'Fortran: correct'
      if (iargc() .eq. 0) stop
      text = 'Fortran gives up'
      if (rank .eq. 0) call mp_abort(7, text)
      stop 27

      contains

! the variable index hides the function of that name
      logical function begins(words, part)
      character*(*) words, part
      begins = words(1:len(part)) .eq. part
      end function

      subroutine must(status)
      integer status
      character*200 words
      if (status .eq. MP_OK) return
      call mp_last_error(words)
      print *, trim(words)
      stop 1
      end subroutine
      end program
