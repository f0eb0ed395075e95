/* Who may read a log: SYSTEM and the administrators, as agent/host/protection.py has it for all private files.
 *
 * Written out as the bytes that Windows keeps, since what makes them of a text (advapi32) brings four libraries
 * and a megabyte into a process that does nothing else with them. */
#include "log_runner.h"

typedef struct {
    BYTE revision, parts, authority[6];
    DWORD part[1];
} ShortSid;

typedef struct {
    BYTE revision, parts, authority[6];
    DWORD part[2];
} LongSid;

typedef struct {
    SECURITY_DESCRIPTOR_RELATIVE head;
    LongSid owner;
    ACL list;
    ACE_HEADER for_system;
    DWORD rights_of_system;
    ShortSid system;
    ACE_HEADER for_administrators;
    DWORD rights_of_administrators;
    LongSid administrators;
} Descriptor;

#define NT_AUTHORITY {0, 0, 0, 0, 0, 5}
#define SYSTEM {1, 1, NT_AUTHORITY, {SECURITY_LOCAL_SYSTEM_RID}}
#define ADMINISTRATORS {1, 2, NT_AUTHORITY, {SECURITY_BUILTIN_DOMAIN_RID, DOMAIN_ALIAS_RID_ADMINS}}

/* O:BAG:BAD:P(A;flags;FA;;;SY)(A;flags;FA;;;BA) */
#define PRIVATE(flags)                                                                                                 \
    {                                                                                                                  \
        .head = {SECURITY_DESCRIPTOR_REVISION, 0, SE_SELF_RELATIVE | SE_DACL_PRESENT | SE_DACL_PROTECTED,              \
                 offsetof(Descriptor, owner), offsetof(Descriptor, owner), 0, offsetof(Descriptor, list)},             \
        .owner = ADMINISTRATORS, .list = {ACL_REVISION, 0, sizeof(Descriptor) - offsetof(Descriptor, list), 2, 0},     \
        .for_system = {ACCESS_ALLOWED_ACE_TYPE, flags, sizeof(ACE_HEADER) + sizeof(DWORD) + sizeof(ShortSid)},         \
        .rights_of_system = FILE_ALL_ACCESS, .system = SYSTEM,                                                         \
        .for_administrators = {ACCESS_ALLOWED_ACE_TYPE, flags, sizeof(ACE_HEADER) + sizeof(DWORD) + sizeof(LongSid)},  \
        .rights_of_administrators = FILE_ALL_ACCESS, .administrators = ADMINISTRATORS                                  \
    }

static Descriptor file = PRIVATE(0), folder = PRIVATE(OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE);

SECURITY_ATTRIBUTES private_file = {sizeof private_file, &file, FALSE};
SECURITY_ATTRIBUTES private_folder = {sizeof private_folder, &folder, FALSE};
