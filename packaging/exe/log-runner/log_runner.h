/* wmcb-log.exe: runs a program as its child, and writes what that says to a log file that never grows too large.
 *
 *   wmcb-log.exe --log-file=C:\var\log\kubelet\kubelet.log [--log-file-size=100M] [--log-file-age=168h]
 *                [--log-file-count=5] [--arguments-from=C:\var\lib\kubelet\kubeadm-flags.env] [--as-service]
 *                -- C:\k\kubelet.exe ARGUMENTS...
 *
 * A service's program has nowhere to say anything: Windows gives it no stdout and no stderr. So the service control
 * manager starts this one, and this one the program, which talks to the manager itself: Windows tells a service's
 * process what it is by a pipe whose name stands in the registry, whoever started it. Stops, shutdowns and states
 * never pass through here. All that the manager sees of this process is its end, which comes with the child's, and
 * the child never outlives it (a job object).
 *
 * With --as-service the program is one that knows nothing of services, as flanneld: this process speaks to the manager
 * in its place, and ends it when the service is to stop.
 *
 * One thread, one buffer, no C runtime; of Windows kernel32 alone, and advapi32 with --as-service.
 */
#ifndef WMCB_LOG_RUNNER_H
#define WMCB_LOG_RUNNER_H

#define UNICODE
#define WIN32_LEAN_AND_MEAN
#include <stddef.h>
#include <windows.h>
#include <winsvc.h>

#define PATH_CAPACITY 32768                /* Windows' own limit */
#define LONGEST_PATH (PATH_CAPACITY - 300) /* leaves room for another name in the log's folder */
#define SECOND 10000000ull  /* as Windows counts file times */
#define WRONG_USAGE 2       /* the exit code of a command line that says nothing sensible */
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* arguments.c */
typedef struct {
    WCHAR path[PATH_CAPACITY];
    ULONGLONG size;  /* bytes of a log file that is full */
    ULONGLONG age;   /* after which a log file is left for a new one, and a file that was left is removed */
    ULONGLONG count; /* of files that were left, without the one in use */
    WCHAR arguments[PATH_CAPACITY]; /* the file that further arguments are in; empty if there is to be none */
    BOOL as_service;
    WCHAR program[PATH_CAPACITY];
    WCHAR *command; /* the program's command line: as it stands in ours, and then those arguments */
} Options;

extern Options options;
void read_options(WCHAR *line);

/* text.c */
void append(WCHAR path[PATH_CAPACITY], const WCHAR *part);
DECLSPEC_NORETURN void fail(const WCHAR *what, const WCHAR *which);
DWORD klog_line(char line[1024], char severity, const WCHAR *form, DWORD_PTR first, DWORD_PTR second);

/* descriptors.c */
extern SECURITY_ATTRIBUTES private_file, private_folder;

/* environment.c */
#define COMMAND_CAPACITY 32768 /* Windows' own limit */
void append_arguments(void);

/* log.c */
void open_log(void);
void write_log(const BYTE *data, DWORD size);
void say(char severity, const WCHAR *form, DWORD_PTR first, DWORD_PTR second);
DECLSPEC_NORETURN void give_up(const WCHAR *form, DWORD_PTR which, DWORD error);
void tend_log(void);
DWORD milliseconds_until_tended(void);

/* rotation.c */
void name_for_left_file(WCHAR name[PATH_CAPACITY]);
void remove_left_files(void);
ULONGLONG now(void);

/* child.c */
#define PIPE_SIZE 65536

typedef struct {
    HANDLE process;
    HANDLE output;
} Child;

BOOL start_child(Child *child);

/* start.c */
DECLSPEC_NORETURN void run(void);

/* service.c */
void be_service(void);
void tell_started(HANDLE process);
void tell_ended(void);

#endif
