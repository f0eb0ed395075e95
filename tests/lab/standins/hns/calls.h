#include <windows.h>

/*
 * Hands one call on to the hns service. `of` is the network's GUID, or for HNSCall method and path. What is given
 * out is to be freed by CoTaskMemFree; any of it may be NULL.
 */
HRESULT hns_call(const char *name, const GUID *id, PCWSTR of, PCWSTR text, GUID *made, PWSTR *answer, PWSTR *record);
