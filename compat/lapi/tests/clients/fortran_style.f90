! SPDX-License-Identifier: Apache-2.0
! A Fortran program: put, get, fetch-and-add, an active message with handlers in Fortran, null counters, an error.
module messages
  implicit none
  integer(kind=8), volatile :: landed(100) = 0
  integer, volatile :: completed = 0
contains
  ! The header handler: a function of the C interface that gives the place for the data.
  function place_for(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info) bind(c)
    use iso_c_binding
    integer(c_int) :: hndl, uhdr(*), uhdr_len
    integer(c_long) :: msg_len
    type(c_funptr) :: comp_h
    type(c_ptr) :: user_info, place_for
    type(c_ptr) :: unused
    unused = user_info
    if (uhdr_len /= 8 .or. uhdr(2) /= 4711 .or. msg_len /= 800 .or. hndl < 0) stop 9
    comp_h = c_funloc(complete)
    place_for = loc_of(landed)
  end function
  subroutine complete(hndl, user_info) bind(c)
    use iso_c_binding
    integer(c_int) :: hndl
    type(c_ptr), value :: user_info
    if (hndl >= 0 .and. .not. c_associated(user_info)) completed = completed + 1
  end subroutine
  function loc_of(array)
    use iso_c_binding
    integer(kind=8), target, volatile :: array(*)
    type(c_ptr) :: loc_of
    loc_of = c_loc(array)
  end function
end module

program fortran_style
  use messages
  use iso_c_binding
  implicit none
  include 'lapif.h'
  type(lapi_info_t) :: info
  type(lapi_cntr_t), save :: arrived, org, cmpl
  integer :: hndl, ierror, me, n, right, left, i, value, old, one
  integer, save, volatile :: ticket = 0
  integer(kind=8), save :: target_data(100) = 0
  integer(kind=8) :: mine(100), back(100)
  integer(kind=LAPI_ADDR_TYPE) :: address
  integer(kind=LAPI_ADDR_TYPE), allocatable :: targets(:), counters(:), tickets(:), handlers(:)
  integer(c_int) :: uhdr(2)
  character(len=LAPI_MAX_ERR_STRING) :: text

  info = lapi_info_t(0, 0, 0, 0, 0, 0, 0_8, 0_8, 0_8, 0_8)
  call lapi_init(hndl, info, ierror)
  call check(ierror, 1)
  call lapi_qenv(hndl, TASK_ID, me, ierror)
  call lapi_qenv(hndl, NUM_TASKS, n, ierror)
  right = mod(me + 1, n)
  left = mod(me + n - 1, n)
  allocate (targets(0:n - 1), counters(0:n - 1), tickets(0:n - 1), handlers(0:n - 1))
  call lapi_setcntr(hndl, arrived, 0, ierror)
  call lapi_setcntr(hndl, org, 0, ierror)
  call lapi_setcntr(hndl, cmpl, 0, ierror)
  call lapi_address(target_data, address, ierror)
  call lapi_address_init(hndl, address, targets, ierror)
  call lapi_address(arrived, address, ierror)
  call lapi_address_init(hndl, address, counters, ierror)
  call lapi_address(ticket, address, ierror)
  call lapi_address_init(hndl, address, tickets, ierror)
  address = transfer(c_funloc(place_for), address)
  call lapi_address_init(hndl, address, handlers, ierror)
  call check(ierror, 2)

  mine = [(me*1000_8 + i, i=1, 100)]
  call lapi_put(hndl, right, 800_8, targets(right), mine, counters(right), org, cmpl, ierror)
  call check(ierror, 3)
  call lapi_waitcntr(hndl, org, 1, value, ierror)
  call lapi_waitcntr(hndl, cmpl, 1, LAPI_ADDR_NULL, ierror)
  call lapi_waitcntr(hndl, arrived, 1, value, ierror)
  if (value /= 0 .or. any(target_data /= [(left*1000_8 + i, i=1, 100)])) stop 4
  call lapi_get(hndl, right, 800_8, targets(right), back, 0_8, org, ierror)
  call lapi_waitcntr(hndl, org, 1, value, ierror)
  if (any(back /= mine)) stop 5

  one = 1
  do i = 1, 10
    call lapi_rmw(hndl, FETCH_AND_ADD, 0, tickets(0), one, old, org, ierror)
    call lapi_waitcntr(hndl, org, 1, value, ierror)
    if (old < 0 .or. old >= 10*n) stop 6
  end do
  call lapi_gfence(hndl, ierror)
  if (me == 0 .and. ticket /= 10*n) stop 7

  uhdr = [me, 4711]
  call lapi_amsend(hndl, right, handlers(right), uhdr, 8, mine, 800_8, 0_8, LAPI_ADDR_NULL, cmpl, ierror)
  call check(ierror, 8)
  call lapi_waitcntr(hndl, cmpl, 1, value, ierror)
  call lapi_gfence(hndl, ierror)
  if (completed /= 1 .or. any(landed /= [(left*1000_8 + i, i=1, 100)])) stop 10

  call lapi_put(hndl, n, 8_8, targets(0), mine, 0_8, LAPI_ADDR_NULL, LAPI_ADDR_NULL, ierror)
  if (ierror /= LAPI_ERR_TGT) stop 11
  call lapi_msg_string(ierror, text, ierror)
  if (text(1:12) /= 'LAPI_ERR_TGT') stop 12
  call lapi_setcntr(hndl, LAPI_ADDR_NULL, 1, ierror)
  if (ierror /= LAPI_ERR_CNTR_NULL) stop 13
  call lapi_gfence(hndl, ierror)
  call lapi_term(hndl, ierror)
  call check(ierror, 14)
  if (me == 0) print '(a,i0,a)', 'fortran_style: correct on ', n, ' tasks'
contains
  subroutine check(code, where)
    integer, intent(in) :: code, where
    integer :: unused
    if (code == LAPI_SUCCESS) return
    call lapi_msg_string(code, text, unused)
    print *, where, trim(text)
    stop 1
  end subroutine
end program
