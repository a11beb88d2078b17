/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAPI on Onesea: one-sided put and get, active messages, counters, read-modify-write, fences, with the names, types
 * and rules of IBM's low-level application programming interface, so that programs written for it compile unchanged.
 *
 * Tasks are the ranks that the job began with. A target address is any pointer of the target. Every call returns
 * LAPI_SUCCESS (0) or an error number (LAPI_Msg_string() says it in words). Any thread may call anything after
 * LAPI_Init(). PLAPI_x is LAPI_x under a second name, for profilers that put their own LAPI_x before it; calls of ours,
 * LAPI_Onesea_x, have none. docs/lapi.md of Onesea says what differs from the original.
 */
#ifndef LAPI_H
#define LAPI_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Basic types ------------------------------------------------------------------------------------------------ */

typedef unsigned int uint; /* as in sys/types.h, which strict C hides */
typedef unsigned long ulong;

typedef uint lapi_handle_t;             /* a context */
typedef unsigned long long lapi_long_t; /* holds a pointer of any task */
typedef uint lapi_dev_t;
typedef uint lapi_status_t;
typedef uint lapi_msg_state_t;
typedef int lapi_ret_flags_t;
typedef int lapi_ctl_flags_t;
typedef void *lapi_dg_handle_t;

/* In C++ an enumeration with values that it does not name must say so: programs pass any. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define LAPI_ENUM_ : int
#else
#define LAPI_ENUM_
#endif

#define LAPI_ADDR_NULL ((void *)0)
#define LAPI_MAX_ERR_STRING 160                     /* bytes of the buffer of LAPI_Msg_string() */
#define LAPI_MAX_MSG_SZ ((ulong)0x7fffffffffffffff) /* bytes of a message */

/* A counter. All zero is a valid counter of 0. Operations add to it, also those of other tasks; use the calls to read
 * and set it. May lie in any memory, aligned to 8 bytes. The first member is the whole, because "= {0}" need not set
 * what of a union lies beyond its first. */
typedef union {
    long long onesea_value;
    int cntr; /* its value, for the eye */
} lapi_cntr_t;

typedef enum LAPI_ENUM_ { FETCH_AND_ADD, FETCH_AND_OR, SWAP, COMPARE_AND_SWAP } RMW_ops_t;

/* ---- Handlers: these are function types ---------------------------------------------------------------------------
 */

typedef enum LAPI_ENUM_ { GET_ERR, PUT_ERR, RMW_ERR, AM_ERR, INT_ERR, TMR_ERR } lapi_err_t;

/* Hears of errors that no call could return. `task_id`: this task; `src`: the other one. Without such a handler the job
 * ends. */
typedef void(LAPI_err_hndlr)(lapi_handle_t *hndl, int *error_code, lapi_err_t *err_type, int *task_id, int *src);

typedef struct {
    uint src;    /* the task sent to */
    uint reason; /* LAPI_SUCCESS or an error */
    ulong reserve[6];
} lapi_sh_info_t;

/* Runs at the target when all data is in place. */
typedef void(compl_hndlr_t)(lapi_handle_t *hndl, void *user_info);

/* Runs at the origin when its buffer may be reused. */
typedef void(scompl_hndlr_t)(lapi_handle_t *hndl, void *completion_param, lapi_sh_info_t *info);

/* Runs at the target when a message arrives; returns where its data goes. `msg_len` is the first member of a
 * lapi_return_info_t. */
typedef void *(hdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp_h,
                            void **user_info);

typedef enum LAPI_ENUM_ { LAPI_GEN_IOVECTOR = 0, LAPI_GEN_STRIDED_XFER, LAPI_GEN_GENERIC } lapi_vectype_t;

/* IOVECTOR, GENERIC: num_vecs pieces, of len[i] bytes at info[i]. STRIDED: num_vecs blocks; info[0] is the first one's
 * address, info[1] the bytes of each, info[2] the bytes from the start of one to the start of the next. */
typedef struct {
    lapi_vectype_t vec_type;
    uint num_vecs;
    void **info;
    ulong *len;
} lapi_vec_t;

/* The same with addresses of another task as numbers. */
typedef struct {
    lapi_vectype_t vec_type;
    uint num_vecs;
    lapi_long_t *info;
    ulong *len;
} lapi_lvec_t;

/* As hdr_hndlr_t, for messages from a vector: returns a vector whose memory the data goes to, or NULL. */
typedef lapi_vec_t *(vhdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec,
                                   compl_hndlr_t **comp_h, void **user_info);

typedef struct {
    ulong msg_len;                /* bytes of data */
    int MAGIC;                    /* LAPI_MAGIC */
    lapi_ret_flags_t ret_flags;   /* out: LAPI_NORMAL ... */
    lapi_ctl_flags_t ctl_flags;   /* out: LAPI_DELIVER_MSG ... */
    lapi_dg_handle_t dgsp_handle; /* not used */
    ulong bytes;                  /* of data that came with the header */
    int src;                      /* who sent it */
    void *udata_one_pkt_ptr;      /* all the data if it came with the header, else NULL; valid in the handler only */
} lapi_return_info_t;
#define LAPI_MAGIC 0x1a91

#define LAPI_NORMAL 0      /* completion handlers run on a thread of their own */
#define LAPI_LOCAL_STATE 1 /* the completion handler does not wait and not send: runs at once */
#define LAPI_SEND_REPLY 2  /* the same, and may send */

#define LAPI_DELIVER_MSG 0
#define LAPI_BURY_MSG 1 /* the data is thrown away, the message counts as arrived */
#define LAPI_DROP_PKT 2 /* the same */

/* ---- Start and end -------------------------------------------------------------------------------------------------
 */

typedef enum LAPI_ENUM_ { L1_LIB, L2_LIB, LAST_LIB } lapi_lib_t;

#define NULL_DEV 0 /* in: any; out: how tasks of other nodes are reached */
#define SHM_DEV 1
#define UDP_DEV 2
#define LAPI_INTERRUPT_OFF 0x20000000u /* in: begins in polling mode */

typedef struct com_thread_info com_thread_info_t;
typedef struct lapi_extend lapi_extend_t;

/* All zero but for what is wanted. */
typedef struct {
    lapi_dev_t protocol;                 /* in: 0 or LAPI_INTERRUPT_OFF; out: SHM_DEV or UDP_DEV */
    lapi_lib_t lib_vers;                 /* L2_LIB or LAST_LIB: LAPI_Nopoll_wait() and its relatives may be used */
    uint epoch_num;                      /* 0 */
    int num_compl_hndlr_thr;             /* threads for completion handlers; 0: 1 */
    uint instance_no;                    /* not used */
    int info6;                           /* 0 */
    LAPI_err_hndlr *err_hndlr;           /* NULL: errors end the job */
    com_thread_info_t *lapi_thread_attr; /* NULL */
    void *adapter_name;                  /* not used */
    lapi_extend_t *add_info;             /* NULL */
} lapi_info_t;

/* ---- LAPI_Qenv(), LAPI_Senv() ---------------------------------------------------------------------------------------
 */

typedef enum LAPI_ENUM_ {
    TASK_ID,
    NUM_TASKS,
    MAX_UHDR_SZ,
    MAX_DATA_SZ, /* as an int: INT_MAX */
    ERROR_CHK,   /* may be set: 0 or 1 */
    TIMEOUT,     /* may be set: seconds, MIN_TIMEOUT..MAX_TIMEOUT */
    MIN_TIMEOUT,
    MAX_TIMEOUT,
    INTERRUPT_SET, /* may be set: 0 or 1 */
    MAX_PORTS,
    MAX_PKT_SZ,
    NUM_REX_BUFS,
    REX_BUF_SZ,
    LOC_ADDRTBL_SZ,
    EPOCH_NUM,
    USE_THRESH,
    RCV_FIFO_SIZE,
    MAX_ATOM_SIZE,
    BUF_CP_SIZE,
    MAX_PKTS_OUT,
    ACK_THRESHOLD, /* may be set: 1..30 */
    QUERY_SHM_ENABLED,
    QUERY_SHM_NUM_TASKS,
    QUERY_SHM_TASKS,             /* fills an array of QUERY_SHM_NUM_TASKS ints */
    QUERY_STATISTICS,            /* fills a lapi_statistics_t */
    PRINT_STATISTICS,            /* to stderr */
    QUERY_SHM_STATISTICS,        /* fills a lapi_statistics_t: tasks of this node */
    QUERY_LOCAL_SEND_STATISTICS, /* fills a lapi_statistics_t: this task to itself */
    BULK_XFER,
    BULK_MIN_MSG_SIZE,
    LAST_QUERY
} lapi_query_t;

typedef struct {
    lapi_long_t Tot_dup_pkt_cnt;
    lapi_long_t Tot_retrans_pkt_cnt;
    lapi_long_t Tot_gho_pkt_cnt;
    lapi_long_t Tot_pkt_sent_cnt;
    lapi_long_t Tot_pkt_recv_cnt;
    lapi_long_t Tot_data_sent;
    lapi_long_t Tot_data_recv;
    lapi_long_t Tot_ack_send_cnt;
    lapi_long_t Tot_ack_recv_cnt;
} lapi_statistics_t;

/* ---- LAPI_Msgpoll() ---- */

typedef struct {
    lapi_msg_state_t status; /* bits below */
    ulong reserve[10];
} lapi_msg_info_t;
#define LAPI_COMPLETE 0x0      /* nothing */
#define LAPI_SEND_COMPLETE 0x1 /* all that this task had sent has arrived */
#define LAPI_RECV_COMPLETE 0x2 /* a message for this task is complete */
#define LAPI_BOTH_COMPLETE 0x3
#define LAPI_POLLING_NET 0x4
#define LAPI_DISP_CNTR 0x8 /* polled `cnt` times for nothing */

/* ---- LAPI_Setcntr_wstatus(): the status of a destination ---- */

#define LAPI_MSG_INITIAL 0     /* nothing from there yet */
#define LAPI_MSG_RECVD 1       /* has arrived there */
#define LAPI_MSG_PURGED 2      /* LAPI_Purge_totask() came before */
#define LAPI_MSG_PURGED_RCVD 3 /* had arrived, purged then */
#define LAPI_MSG_INVALID 4     /* not a task */

/* ---- LAPI_Xfer() ---- */

typedef enum LAPI_ENUM_ {
    LAPI_GET_XFER = 0,
    LAPI_AM_XFER,
    LAPI_PUT_XFER,
    LAPI_GETV_XFER,
    LAPI_PUTV_XFER,
    LAPI_AMV_XFER,
    LAPI_RMW_XFER,
    LAPI_DGSP_XFER,
    LAPI_AM_LW_XFER,
    LAPI_LAST_XFER
} lapi_xfer_type_t;

/* Bits of `flags`; all are accepted and change nothing. */
#define USE_TGT_VEC_TYPE 0x1u
#define BUFFER_BOTH_CONTIGUOUS 0x2u
#define LAPI_USE_BULK_XFER 0x4u
#define LAPI_NOT_USE_BULK_XFER 0x8u
#define LAPI_USE_LAZY_ACKS 0x10u

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_long_t tgt_addr;
    void *org_addr;
    ulong len;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    compl_hndlr_t *chndlr; /* runs here when the data has arrived */
    void *cinfo;
} lapi_get_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_long_t tgt_addr;
    void *org_addr;
    ulong len;
    scompl_hndlr_t *shdlr;
    void *sinfo;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    lapi_cntr_t *cmpl_cntr;
} lapi_put_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_long_t hdr_hdl;
    uint uhdr_len;
    void *uhdr;
    void *udata;
    ulong udata_len;
    scompl_hndlr_t *shdlr;
    void *sinfo;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    lapi_cntr_t *cmpl_cntr;
} lapi_am_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_vec_t *org_vec;
    void *tgt_vec; /* a lapi_vec_t of this task with addresses of the target */
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    compl_hndlr_t *chndlr;
    void *cinfo;
} lapi_getv_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    scompl_hndlr_t *shdlr;
    void *sinfo;
    lapi_vec_t *org_vec;
    void *tgt_vec;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    lapi_cntr_t *cmpl_cntr;
} lapi_putv_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_long_t hdr_hdl;
    uint uhdr_len;
    void *uhdr;
    scompl_hndlr_t *shdlr;
    void *sinfo;
    lapi_vec_t *org_vec;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    lapi_cntr_t *cmpl_cntr;
} lapi_amv_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    int flags;
    uint tgt;
    lapi_long_t hdr_hdl;
    uint uhdr_len;
    void *uhdr;
    void *udata;
    ulong udata_len;
    scompl_hndlr_t *shdlr;
    void *sinfo;
    lapi_long_t tgt_cntr;
    lapi_cntr_t *org_cntr;
    lapi_cntr_t *cmpl_cntr;
    lapi_dg_handle_t dgsp;
    lapi_status_t status;
} lapi_amdgsp_t;

typedef struct {
    lapi_xfer_type_t Xfer_type;
    RMW_ops_t op;
    uint tgt;
    uint size; /* 32 or 64 */
    lapi_long_t tgt_var;
    void *in_val;
    void *prev_tgt_val;
    lapi_cntr_t *org_cntr;
    scompl_hndlr_t *shdlr; /* runs here when prev_tgt_val is there */
    void *sinfo;
} lapi_rmw_t;

typedef union {
    lapi_amdgsp_t Dgsp; /* the largest, so that "= {0}" and "= {LAPI_PUT_XFER}" set all the rest to zero */
    lapi_xfer_type_t Xfer_type;
    lapi_get_t Get;
    lapi_am_t Am;
    lapi_rmw_t Rmw;
    lapi_put_t Put;
    lapi_getv_t Getv;
    lapi_putv_t Putv;
    lapi_amv_t Amv;
} lapi_xfer_t;

/* ---- LAPI_Util() ---- */

typedef enum LAPI_ENUM_ {
    LAPI_REGISTER_DGSP = 0,
    LAPI_RESERVE_DGSP,
    LAPI_UNRESERVE_DGSP,
    LAPI_REG_DDM_FUNC,
    LAPI_DGSP_PACK,
    LAPI_DGSP_UNPACK,
    LAPI_ADD_UDP_DEST_PORT,
    LAPI_GET_THREAD_FUNC,
    LAPI_REMOTE_RCXT,
    LAPI_XLATE_ADDRESS,
    LAPI_REGISTER_NOTIFICATION,
    LAPI_LAST_UTIL
} lapi_util_type_t;

typedef void *lapi_cond_t; /* filled by cond_init */
struct timespec;

/* The lock of a context: its owner may take it again and may call anything; handlers of the context run while nobody
 * else has it. The conditions go with it. All return LAPI_SUCCESS or an error. */
typedef struct {
    lapi_util_type_t Util_type; /* LAPI_GET_THREAD_FUNC */
    int (*mutex_lock)(lapi_handle_t hndl);
    int (*mutex_unlock)(lapi_handle_t hndl);                /* LAPI_ERR_UNKNOWN: not the owner */
    int (*mutex_trylock)(lapi_handle_t hndl);               /* LAPI_ERR_UNKNOWN: another thread has it */
    int (*mutex_getowner)(lapi_handle_t hndl, void *owner); /* a pthread_t; 0: nobody */
    int (*cond_wait)(lapi_handle_t hndl, lapi_cond_t *cond);
    int (*cond_timedwait)(lapi_handle_t hndl, lapi_cond_t *cond, struct timespec *until); /* LAPI_ERR_TIMEOUT */
    int (*cond_signal)(lapi_handle_t hndl, lapi_cond_t *cond);
    int (*cond_init)(lapi_handle_t hndl, lapi_cond_t *cond);
    int (*cond_destroy)(lapi_handle_t hndl, lapi_cond_t *cond);
} lapi_thread_func_t;

typedef union {
    lapi_thread_func_t ThreadUtil; /* the larger, as above */
    lapi_util_type_t Util_type;
} lapi_util_t;

/* ---- Calls ---- */

int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);
int LAPI_Term(lapi_handle_t hndl);
int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);
int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);
int LAPI_Msg_string(int error_code, void *buf);
int LAPI_Address(void *my_addr, ulong *ret_addr);
int LAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);
int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);
int LAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);
int LAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr);
int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata, ulong udata_len,
                lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr);
int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, lapi_vec_t *org_vec,
                 lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val,
             lapi_cntr_t *org_cntr);
int LAPI_Rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
               long long *prev_tgt_val, lapi_cntr_t *org_cntr);
int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);
int LAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);

int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);
int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);
int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int LAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list, int *dest_status);
int LAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int LAPI_Purge_totask(lapi_handle_t hndl, uint dest);
int LAPI_Resume_totask(lapi_handle_t hndl, uint dest);
int LAPI_Probe(lapi_handle_t hndl);
int LAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);
int LAPI_Fence(lapi_handle_t hndl);
int LAPI_Gfence(lapi_handle_t hndl);

/* Ours, not LAPI's: `bytes` (> 0) of memory that the tasks of this node share. A pointer into it is a target address of
 * this task like any other, but Put, Get and Rmw on it from tasks of the same node are plain loads, stores and atomics.
 * 64-byte aligned. Local. _free: from this task, when no operation on it is under way. Errors: LAPI_ERR_HNDL_INVALID,
 * LAPI_ERR_RET_PTR_NULL, LAPI_ERR_DATA_LEN, LAPI_ERR_MEMORY_EXHAUSTED; free: LAPI_ERR_ONESEA_ADDRESS (not such). */
int LAPI_Onesea_shared_alloc(lapi_handle_t hndl, ulong bytes, void **memory);
int LAPI_Onesea_shared_free(lapi_handle_t hndl, void *memory);

/* Ours, too: these wait for the end at both sides. What went wrong is the result, and the error handler does not hear
 * of it: LAPI_ERR_TIMEOUT (the way was given up), LAPI_ERR_TGT_PURGED, LAPI_ERR_ONESEA_ADDRESS, or as the others. */
int LAPI_Onesea_put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr);
int LAPI_Onesea_get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr);
int LAPI_Onesea_rmw64(lapi_handle_t h, RMW_ops_t op, uint tgt, long long *tgt_var, long long *in_val, long long *prev);

/* Ours: as LAPI_Waitcntr(), but at most so many seconds (0: only looks); LAPI_ERR_TIMEOUT leaves the counter as it is.
 * LAPI_ERR_CNTR_VAL: `val` or `seconds` is below 0, or no number. */
int LAPI_Onesea_waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, double seconds);

int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);
int PLAPI_Term(lapi_handle_t hndl);
int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);
int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);
int PLAPI_Msg_string(int error_code, void *buf);
int PLAPI_Address(void *my_addr, ulong *ret_addr);
int PLAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);
int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);
int PLAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);
int PLAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);
int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr);
int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata, ulong udata_len,
                 lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr);
int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, lapi_vec_t *org_vec,
                  lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val,
              lapi_cntr_t *org_cntr);
int PLAPI_Rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                long long *prev_tgt_val, lapi_cntr_t *org_cntr);
int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);
int PLAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);
int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);
int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);
int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list, int *dest_status);
int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Probe(lapi_handle_t hndl);
int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);
int PLAPI_Fence(lapi_handle_t hndl);
int PLAPI_Gfence(lapi_handle_t hndl);

/* ---- Error numbers ---- */

#define LAPI_SUCCESS 0
#define LAPI_ERR_UNKNOWN 400
#define LAPI_ERR_ALL_HNDL_IN_USE 401
#define LAPI_ERR_BOTH_NETSTR_SET 402
#define LAPI_ERR_CSS_LOAD_FAILED 403
#define LAPI_ERR_HNDL_INVALID 404
#define LAPI_ERR_INFO_NONZERO 405
#define LAPI_ERR_INFO_NULL 406
#define LAPI_ERR_MEMORY_EXHAUSTED 407
#define LAPI_ERR_MSG_API 408
#define LAPI_ERR_NO_ENV_VAR 409
#define LAPI_ERR_NO_NETSTR_SET 410
#define LAPI_ERR_NO_UDP_HNDLR 411
#define LAPI_ERR_PSS_NON_ROOT 412
#define LAPI_ERR_RET_PTR_NULL 413
#define LAPI_ERR_SHM_KE_NOT_LOADED 414
#define LAPI_ERR_TIMEOUT 415
#define LAPI_ERR_REG_TIMER 416
#define LAPI_ERR_UDP_PKT_SZ 417
#define LAPI_ERR_USER_UDP_HNDLR_FAIL 418
#define LAPI_ERR_HDR_HNDLR_NULL 419
#define LAPI_ERR_ADDR_HNDL_RANGE 420
#define LAPI_ERR_ADDR_TBL_NULL 421
#define LAPI_ERR_TGT_PURGED 422
#define LAPI_ERR_MULTIPLE_WAITERS 423
#define LAPI_ERR_ORG_ADDR_NULL 424
#define LAPI_ERR_TGT_ADDR_NULL 425
#define LAPI_ERR_DATA_LEN 426
#define LAPI_ERR_TGT 427
#define LAPI_ERR_UHDR_NULL 428
#define LAPI_ERR_UHDR_LEN 429
#define LAPI_ERR_HDR_LEN 430
#define LAPI_ERR_CNTR_NULL 431
#define LAPI_ERR_CNTR_VAL 432
#define LAPI_ERR_QUERY_TYPE 433
#define LAPI_ERR_IN_VAL_NULL 434
#define LAPI_ERR_RMW_OP 435
#define LAPI_ERR_TGT_VAR_NULL 436
#define LAPI_ERR_SET_VAL 437
#define LAPI_ERR_OP_SZ 438
#define LAPI_ERR_XFER_CMD 439
#define LAPI_ERR_UTIL_CMD 440
#define LAPI_ERR_MSG_INFO_NULL 441
#define LAPI_ERR_POLLING_NET 442
#define LAPI_ERR_CODE_UNKNOWN 443
#define LAPI_ERR_ORG_EXTENT 444
#define LAPI_ERR_ORG_STRIDE 445
#define LAPI_ERR_ORG_VEC_ADDR 446
#define LAPI_ERR_ORG_VEC_LEN 447
#define LAPI_ERR_ORG_VEC_NULL 448
#define LAPI_ERR_ORG_VEC_TYPE 449
#define LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL 450
#define LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL 451
#define LAPI_ERR_TGT_EXTENT 452
#define LAPI_ERR_TGT_STRIDE 453
#define LAPI_ERR_TGT_VEC_ADDR 454
#define LAPI_ERR_TGT_VEC_LEN 455
#define LAPI_ERR_TGT_VEC_NULL 456
#define LAPI_ERR_TGT_VEC_TYPE 457
#define LAPI_ERR_VEC_NUM_DIFF 458
#define LAPI_ERR_VEC_TYPE_DIFF 459
#define LAPI_ERR_VEC_LEN_DIFF 460
#define LAPI_WARN_PARM_NULL 461
#define LAPI_ERR_ONESEA_ADDRESS 480 /* ours: the target's memory at that address does not allow the access */

/* Names of earlier releases. They share numbers with the ones above. */
#define LAPI_ERR_BAD_PARAMETER LAPI_ERR_UNKNOWN
#define LAPI_ERR_BAD_FIRST_PARM LAPI_ERR_HNDL_INVALID
#define LAPI_ERR_BAD_SECOND_PARM LAPI_ERR_TGT
#define LAPI_ERR_BAD_THIRD_PARM LAPI_ERR_DATA_LEN
#define LAPI_ERR_BAD_FOURTH_PARM LAPI_ERR_TGT_ADDR_NULL
#define LAPI_ERR_BAD_FIFTH_PARM LAPI_ERR_ORG_ADDR_NULL
#define LAPI_ERR_BAD_SIXTH_PARM LAPI_ERR_UHDR_LEN
#define LAPI_ERR_BAD_SEVENTH_PARM LAPI_ERR_CNTR_NULL
#define LAPI_ERR_BAD_EIGHTH_PARM LAPI_ERR_CNTR_VAL
#define LAPI_ERR_BAD_NINTH_PARM LAPI_ERR_SET_VAL
#define LAPI_ERR_INIT_FAILED LAPI_ERR_CSS_LOAD_FAILED
#define LAPI_ERR_NOMORE_PORTS LAPI_ERR_ALL_HNDL_IN_USE
#define LAPI_ERR_OPEN_FAILED LAPI_ERR_NO_ENV_VAR
#define LAPI_ERR_QUEUE_FULL LAPI_ERR_MEMORY_EXHAUSTED
#define LAPI_ERR_EXHAUSTED_MEMORY LAPI_ERR_MEMORY_EXHAUSTED
#define LAPI_ERR_NONZERO_INFO LAPI_ERR_INFO_NONZERO
#define LAPI_ERR_PURGED_TASK LAPI_ERR_TGT_PURGED

#ifdef __cplusplus
}
#endif
#endif
