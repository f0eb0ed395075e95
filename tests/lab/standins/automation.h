/*
 * COM objects that are asked by name, for the stand-ins of Windows' classes: a table of members makes a class.
 *
 * Only IDispatch is there, not the dual interfaces' own functions. Each call fails where a test wants it to.
 */
#ifndef AUTOMATION_H
#define AUTOMATION_H

#define COBJMACROS
#include "standin.h"
#include <oleauto.h>

typedef struct object object;

typedef struct {
    WORD how;             /* DISPATCH_METHOD, DISPATCH_PROPERTYGET, DISPATCH_PROPERTYPUT */
    UINT count;
    VARIANT *arguments;   /* in the order in which they were written */
    VARIANT *result;
} call;

typedef struct {
    const WCHAR *name;
    DISPID id;
    HRESULT (*answer)(object *self, const call *asked);
    BOOL is_method;
} member;

typedef struct {
    const WCHAR *name;
    const member *members;
    void (*forget)(object *self);
} class;

struct object {
    const IDispatchVtbl *functions;
    const class *class;
    LONG references;
};

/* Of `size` bytes, the first of which are an object's. */
void *new_object(const class *class, size_t size);
/* A property's or a method's one argument as a text, an empty one for none; NULL for what is no text. */
BSTR text_of(const VARIANT *value);
BOOL number_of(const VARIANT *value, LONG *number);
HRESULT answer_text(const call *asked, const WCHAR *text);
HRESULT answer_number(const call *asked, LONG number);
HRESULT answer_object(const call *asked, void *made);
/* IEnumVARIANT over so many objects, which it takes over. */
HRESULT answer_enumeration(const call *asked, void **objects, ULONG count);

/* The library's own, given by each stand-in: its file's name, and what to make for a class id. */
extern const WCHAR *const STANDIN;
object *make(REFCLSID wanted);

#endif
