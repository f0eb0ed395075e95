/*
 * access.exe SDDL: what Windows' own AccessCheck grants to an administrator, to SYSTEM and to a plain user.
 *
 * Prints a line for each: its name and the granted rights in hexadecimal. The tokens are made from nothing, so
 * that the answer doesn't depend on who runs this.
 */
#include <windows.h>
#include <sddl.h>
#include <stdio.h>
#include <stdlib.h>

typedef LONG NTSTATUS;
typedef struct {
    ULONG length;
    HANDLE root;
    void *name;
    ULONG attributes;
    void *descriptor, *quality;
} OBJECT_ATTRIBUTES;

NTSTATUS WINAPI NtCreateToken(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, TOKEN_TYPE, LUID *, LARGE_INTEGER *, TOKEN_USER *,
                              TOKEN_GROUPS *, TOKEN_PRIVILEGES *, TOKEN_OWNER *, TOKEN_PRIMARY_GROUP *,
                              TOKEN_DEFAULT_DACL *, TOKEN_SOURCE *);

#define EVERYONE "S-1-1-0"
#define AUTHENTICATED "S-1-5-11"
#define ADMINISTRATORS "S-1-5-32-544"
#define USERS "S-1-5-32-545"

static const struct {
    const char *name, *user, *groups[5];
} people[] = {
    {"administrator", "S-1-5-21-1-2-3-500", {ADMINISTRATORS, USERS, AUTHENTICATED, EVERYONE}},
    {"system", "S-1-5-18", {ADMINISTRATORS, AUTHENTICATED, EVERYONE}},
    {"user", "S-1-5-21-1-2-3-1001", {USERS, AUTHENTICATED, EVERYONE}},
};

static _Noreturn void fail(const char *what, unsigned long error)
{
    fprintf(stderr, "access.exe: %s: error %lx\n", what, error);
    exit(1);
}

static SID *sid(const char *text)
{
    PSID found;

    if (!ConvertStringSidToSidA(text, &found))
        fail(text, GetLastError());
    return found;
}

static HANDLE token(const char *user, const char *const *groups)
{
    SECURITY_QUALITY_OF_SERVICE quality = {sizeof(quality), SecurityImpersonation, SECURITY_STATIC_TRACKING, FALSE};
    OBJECT_ATTRIBUTES attributes = {.length = sizeof(attributes), .quality = &quality};
    LUID session = {999, 0};
    LARGE_INTEGER never = {.QuadPart = MAXLONGLONG};
    TOKEN_USER owner = {{sid(user), 0}};
    struct {
        DWORD count;
        SID_AND_ATTRIBUTES all[5];
    } member = {0};
    TOKEN_PRIVILEGES none = {0};
    TOKEN_OWNER default_owner = {owner.User.Sid};
    TOKEN_PRIMARY_GROUP primary = {sid(groups[0])};
    TOKEN_DEFAULT_DACL dacl = {NULL};
    TOKEN_SOURCE source = {"lab", {0, 0}};
    HANDLE made;
    NTSTATUS status;

    for (; groups[member.count]; member.count++) {
        member.all[member.count].Sid = sid(groups[member.count]);
        member.all[member.count].Attributes = SE_GROUP_MANDATORY | SE_GROUP_ENABLED_BY_DEFAULT | SE_GROUP_ENABLED;
    }
    status = NtCreateToken(&made, TOKEN_ALL_ACCESS, &attributes, TokenImpersonation, &session, &never, &owner,
                           (TOKEN_GROUPS *)&member, &none, &default_owner, &primary, &dacl, &source);
    if (status)
        fail("NtCreateToken", status);
    return made;
}

int main(int count, char **arguments)
{
    GENERIC_MAPPING files = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
    PSECURITY_DESCRIPTOR descriptor;

    if (count != 2 || !ConvertStringSecurityDescriptorToSecurityDescriptorA(arguments[1], SDDL_REVISION_1, &descriptor, NULL))
        fail("cannot parse the SDDL", GetLastError());
    for (size_t i = 0; i < sizeof(people) / sizeof(*people); i++) {
        PRIVILEGE_SET privileges;
        DWORD size = sizeof(privileges), granted = 0;
        BOOL allowed = FALSE;

        if (!AccessCheck(descriptor, token(people[i].user, people[i].groups), MAXIMUM_ALLOWED, &files, &privileges, &size,
                         &granted, &allowed))
            fail("AccessCheck", GetLastError());
        printf("%s %08lx\n", people[i].name, allowed ? granted : 0);
    }
    return 0;
}
