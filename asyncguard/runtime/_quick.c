/* The short way of a read and of a step's mark, compiled. See `reads.py`, which says what it does
   and has the same in Python, for where this could not be built.

   A read that happens once a step finds no cache warm: what counts is how many objects and
   instructions it touches. Here that is a third of what the interpreter touches for the same.

   Objects of `hub` are made in Python, with __slots__; their members are looked up once, and read
   where they lie. All is called with the GIL held; builds without one do not load this. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <structmember.h>

#define INTERFACE 2 /* `compiled.INTERFACE`: another one belongs to another release */
#define FRAMES 4 /* the line that reads, and its nearest callers: `callers.NEAREST` of them */

#if PY_VERSION_HEX < 0x030A0000
#error "asyncguard needs Python 3.10 or newer"
#endif
#ifdef Py_GIL_DISABLED
#error "built without a GIL, Python runs the short way of reads.py"
#endif

/* ---- members of objects with __slots__ ---- */

static PyObject *
member(PyObject *object, Py_ssize_t offset)
{
    return *(PyObject **)((char *)object + offset); /* borrowed; NULL where it is not set */
}

static void
set_member(PyObject *object, Py_ssize_t offset, PyObject *value /* taken */)
{
    PyObject **place = (PyObject **)((char *)object + offset);
    PyObject *before = *place;
    *place = value;
    Py_XDECREF(before);
}

static Py_ssize_t
offset_of(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found == NULL) {
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        PyMemberDef *definition = ((PyMemberDescrObject *)found)->d_member;
        if (definition->type == T_OBJECT_EX) {
            offset = definition->offset;
        }
    }
    Py_DECREF(found);
    if (offset < 0) {
        PyErr_Format(PyExc_TypeError, "%s.%s is no slot", type->tp_name, name);
    }
    return offset;
}

/* Where the members are that both ways need. */
typedef struct {
    PyTypeObject *beat; /* owned */
    Py_ssize_t clock, doing, last, log, pacer, step, thread, waiting;
} Places;

static int
find_places(Places *places, PyTypeObject *beat, PyTypeObject *doing)
{
    struct {
        PyTypeObject *type;
        const char *name;
        Py_ssize_t *offset;
    } wanted[] = {
        {beat, "clock", &places->clock},   {beat, "doing", &places->doing},
        {beat, "last", &places->last},     {beat, "log", &places->log},
        {beat, "pacer", &places->pacer},   {beat, "step", &places->step},
        {beat, "thread", &places->thread}, {doing, "waiting", &places->waiting},
    };
    for (size_t at = 0; at < Py_ARRAY_LENGTH(wanted); at++) {
        *wanted[at].offset = offset_of(wanted[at].type, wanted[at].name);
        if (*wanted[at].offset < 0) {
            return -1;
        }
    }
    Py_INCREF(beat);
    places->beat = beat;
    return 0;
}

/* The beat that a member of `front` is; NULL where that is none. Borrowed. */
static PyObject *
beat_of(const Places *places, PyObject *front, Py_ssize_t offset)
{
    PyObject *beat = member(front, offset);
    return beat != NULL && Py_IS_TYPE(beat, places->beat) ? beat : NULL;
}

/* Whether `number` is this id: of an object, or of a thread. */
static int
is_id(PyObject *number, size_t id)
{
    if (number == NULL || !PyLong_CheckExact(number)) {
        return 0;
    }
    size_t value = PyLong_AsSize_t(number);
    if (value == (size_t)-1 && PyErr_Occurred()) {
        PyErr_Clear(); /* negative, or longer than an id: another number */
        return 0;
    }
    return value == id;
}

/* ---- reads ---- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original;
    PyObject *judge; /* says what a read of a value waits for */
    PyObject *rare; /* `reads._Rare`: what is done every so often */
    PyObject *hook; /* the long way */
    PyObject *known; /* a dictionary; the short way is closed while it holds anything */
    PyObject *front;
    Py_ssize_t reads; /* of `front` */
    Places places;
    int above; /* how many frames the caller is above the one that called */
    /* The place of the last read, and for how many more its site may be taken for granted. */
    PyObject *value; /* what it waited for, or the type of its value */
    PyObject *code[FRAMES];
    int at[FRAMES];
    PyObject *site;
    Py_ssize_t tickets;
    int by_type;  /* whether the type of a value tells what its reads wait for */
    int stand_in; /* whether what was read there stood in for a device's value */
} Read;

static PyObject *name_append, *name_failed, *name_gave_itself, *name_look;

static int
instruction_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti < 0 ? -1 : frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
#endif
}

/* Whether `frame` and its callers are where they were the last time. */
static int
is_same_place(const Read *self, PyFrameObject *frame)
{
    int same = 1;
    Py_XINCREF(frame);
    for (int at = 0; same && at < FRAMES; at++) {
        if (frame == NULL) { /* as `callers.TOP` */
            same = self->at[at] == -1 && self->code[at] == Py_None;
            continue;
        }
        PyCodeObject *code = PyFrame_GetCode(frame);
        same = (PyObject *)code == self->code[at] && instruction_of(frame) == self->at[at];
        Py_DECREF(code);
        PyFrameObject *back = same && at + 1 < FRAMES ? PyFrame_GetBack(frame) : NULL;
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return same;
}

/* What reads of `value` wait for, to be compared by identity; NULL with an exception. */
static PyObject *
waited_for(const Read *self, PyObject *value)
{
    if (self->by_type) {
        return Py_NewRef((PyObject *)Py_TYPE(value));
    }
    return PyObject_CallOneArg(self->judge, value);
}

/* Take over what `look` returned, a `reads._Found`. */
static int
settle(Read *self, PyObject *found)
{
    PyObject *place, *site;
    Py_ssize_t tickets;
    int by_type, stand_in;
    self->tickets = 0;
    if (!PyArg_ParseTuple(
            found, "O!Onpp", &PyTuple_Type, &place, &site, &tickets, &by_type, &stand_in)) {
        return -1;
    }
    if (PyTuple_GET_SIZE(place) != 1 + 2 * FRAMES) {
        PyErr_SetString(PyExc_ValueError, "a place has another number of frames");
        return -1;
    }
    for (int at = 0; at < FRAMES; at++) {
        int instruction = (int)PyLong_AsLong(PyTuple_GET_ITEM(place, 1 + 2 * at));
        if (instruction == -1 && PyErr_Occurred()) {
            return -1;
        }
        self->at[at] = instruction;
        Py_XSETREF(self->code[at], Py_NewRef(PyTuple_GET_ITEM(place, 2 + 2 * at)));
    }
    Py_XSETREF(self->value, Py_NewRef(PyTuple_GET_ITEM(place, 0)));
    Py_XSETREF(self->site, Py_NewRef(site));
    self->tickets = tickets;
    self->by_type = by_type;
    self->stand_in = stand_in;
    return 0;
}

/* A fault of asyncguard's own is noted, and the user's call goes on: 0. What is none of
   `Exception`, such as an interrupt, is the program's: -1. */
static int
note_fault(const Read *self)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *done = PyObject_CallMethodOneArg(self->rare, name_failed, error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The site of a read of `value` by `frame` (new); NULL, and no exception, where the long way has
   to find it. */
static PyObject *
site_of(Read *self, PyObject *value, PyFrameObject *frame)
{
    int same = is_same_place(self, frame);
    if (same) {
        PyObject *now = waited_for(self, value);
        if (now == NULL) {
            return NULL;
        }
        same = now == self->value;
        Py_DECREF(now);
    }
    if (!same || self->tickets <= 0) {
        PyObject *unused = PyLong_FromSsize_t(self->tickets);
        if (unused == NULL) {
            return NULL;
        }
        PyObject *found = PyObject_CallMethodObjArgs(
            self->rare, name_look, value, (PyObject *)frame, unused, NULL);
        Py_DECREF(unused);
        if (found == NULL || settle(self, found) < 0) {
            Py_XDECREF(found);
            return NULL;
        }
        Py_DECREF(found);
    }
    if (self->tickets <= 0 || self->site == NULL) {
        return NULL;
    }
    self->tickets--;
    return Py_NewRef(self->site);
}

/* Log the wait, and look after a value that was given back itself. Steals nothing. */
static int
log_wait(
    Read *self, PyObject *beat, PyObject *site, PyObject *began, PyObject *value,
    PyObject *result, PyFrameObject *frame)
{
    Py_ssize_t held = Py_REFCNT(value);
    PyObject *clock = member(beat, self->places.clock);
    PyObject *ended = clock == NULL ? NULL : PyObject_CallNoArgs(clock);
    if (ended == NULL) {
        return -1;
    }
    PyObject *step = member(beat, self->places.step);
    PyObject *entry = PyTuple_Pack(4, site, began, ended, step == NULL ? Py_None : step);
    Py_DECREF(ended);
    if (entry == NULL) {
        return -1;
    }
    PyObject *log = member(beat, self->places.log);
    PyObject *done = log == NULL ? NULL : PyObject_CallMethodOneArg(log, name_append, entry);
    Py_DECREF(entry);
    if (done == NULL) {
        return -1;
    }
    Py_DECREF(done);
    if (self->stand_in && result == value) {
        PyObject *number = PyLong_FromSsize_t(held);
        if (number == NULL) {
            return -1;
        }
        done = PyObject_CallMethodObjArgs(
            self->rare, name_gave_itself, value, (PyObject *)frame, number, NULL);
        Py_DECREF(number);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    return 0;
}

static PyObject *
read_value(Read *self, PyObject *beat, PyObject *doing, PyObject *const *args, size_t nargsf)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (int up = 0; up < self->above && frame != NULL; up++) {
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    PyObject *site = NULL, *began = NULL, *result = NULL;
    if (frame != NULL) {
        site = site_of(self, args[0], frame);
    }
    if (site != NULL) {
        PyObject *clock = member(beat, self->places.clock);
        began = clock == NULL ? NULL : PyObject_CallNoArgs(clock);
    }
    if (began == NULL) {
        if (!PyErr_Occurred() || note_fault(self) == 0) {
            result = PyObject_Vectorcall(self->hook, args, nargsf, NULL);
        }
    }
    else {
        set_member(doing, self->places.waiting, Py_NewRef(Py_True));
        result = PyObject_Vectorcall(self->original, args, nargsf, NULL);
        set_member(doing, self->places.waiting, Py_NewRef(Py_False));
        if (result != NULL && log_wait(self, beat, site, began, args[0], result, frame) < 0
            && note_fault(self) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(began);
    Py_XDECREF(site);
    Py_XDECREF(frame);
    return result;
}

static PyObject *
read_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Read *self = (Read *)object;
    PyObject *beat = beat_of(&self->places, self->front, self->reads);
    PyObject *doing = beat == NULL ? NULL : member(beat, self->places.doing);
    if (doing == NULL || PyVectorcall_NARGS(nargsf) != 1
        || (names != NULL && PyTuple_GET_SIZE(names))
        || !is_id(member(beat, self->places.thread), PyThread_get_thread_ident())
        || member(doing, self->places.waiting) != Py_False || PyDict_GET_SIZE(self->known)) {
        return PyObject_Vectorcall(self->hook, args, nargsf, names);
    }
    /* Other threads run meanwhile, and may end the trace. */
    Py_INCREF(self);
    Py_INCREF(beat);
    Py_INCREF(doing);
    PyObject *result = read_value(self, beat, doing, args, nargsf);
    Py_DECREF(doing);
    Py_DECREF(beat);
    Py_DECREF(self);
    return result;
}

static int
read_traverse(PyObject *object, visitproc visit, void *arg)
{
    Read *self = (Read *)object;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->original);
    Py_VISIT(self->judge);
    Py_VISIT(self->rare);
    Py_VISIT(self->hook);
    Py_VISIT(self->known);
    Py_VISIT(self->front);
    Py_VISIT(self->places.beat);
    Py_VISIT(self->value);
    for (int at = 0; at < FRAMES; at++) {
        Py_VISIT(self->code[at]);
    }
    Py_VISIT(self->site);
    return 0;
}

static int
read_clear(PyObject *object)
{
    Read *self = (Read *)object;
    Py_CLEAR(self->original);
    Py_CLEAR(self->judge);
    Py_CLEAR(self->rare);
    Py_CLEAR(self->hook);
    Py_CLEAR(self->known);
    Py_CLEAR(self->front);
    Py_CLEAR(self->places.beat);
    Py_CLEAR(self->value);
    for (int at = 0; at < FRAMES; at++) {
        Py_CLEAR(self->code[at]);
    }
    Py_CLEAR(self->site);
    return 0;
}

static void
read_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    read_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
read_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {
        "original", "judge", "rare", "hook", "known", "front", "beat", "doing", "above", NULL};
    PyObject *original, *judge, *rare, *hook, *known, *front;
    PyTypeObject *beat, *doing;
    int above;
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "OOOOO!OO!O!i:Read", names, &original, &judge, &rare, &hook,
            &PyDict_Type, &known, &front, &PyType_Type, &beat, &PyType_Type, &doing, &above)) {
        return NULL;
    }
    Read *self = (Read *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = read_call;
    self->above = above;
    self->reads = offset_of(Py_TYPE(front), "reads");
    if (self->reads < 0 || find_places(&self->places, beat, doing) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->original = Py_NewRef(original);
    self->judge = Py_NewRef(judge);
    self->rare = Py_NewRef(rare);
    self->hook = Py_NewRef(hook);
    self->known = Py_NewRef(known);
    self->front = Py_NewRef(front);
    return (PyObject *)self;
}

static PyMemberDef read_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Read, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot read_slots[] = {
    {Py_tp_doc, "The short way of a read, in front of a hook: see `reads.read_hook`."},
    {Py_tp_new, read_new},
    {Py_tp_dealloc, read_dealloc},
    {Py_tp_traverse, read_traverse},
    {Py_tp_clear, read_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, read_members},
    {0, NULL},
};

static PyType_Spec read_spec = {
    .name = "asyncguard.runtime._quick.Read",
    .basicsize = sizeof(Read),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = read_slots,
};

/* ---- the mark of a step ---- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *mark; /* the long way: `hub.mark` */
    PyObject *front;
    Py_ssize_t marks; /* of `front` */
    Places places;
} Mark;

/* The number after this one; NULL with an error where it is none. */
static PyObject *
next_step(PyObject *step)
{
    if (step == NULL) {
        PyErr_SetString(PyExc_AttributeError, "step");
        return NULL;
    }
    long long number = PyLong_AsLongLong(step);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromLongLong(number + 1);
}

/* 1 where the optimizer sets the pace and the step was ended here, 0 where not, -1 in error. */
static int
end_step(const Mark *self, PyObject *optimizer)
{
    const Places *places = &self->places;
    PyObject *beat = beat_of(places, self->front, self->marks);
    if (beat == NULL || !is_id(member(beat, places->pacer), (size_t)optimizer)) {
        return 0;
    }
    PyObject *clock = member(beat, places->clock);
    if (clock == NULL) {
        return 0;
    }
    Py_INCREF(beat);
    /* Before the counter is read: a clock written in Python may let another thread mark. */
    PyObject *now = PyObject_CallNoArgs(clock);
    PyObject *next = now == NULL ? NULL : next_step(member(beat, places->step));
    if (next != NULL) {
        set_member(beat, places->last, now);
        set_member(beat, places->step, next);
    }
    else {
        Py_XDECREF(now);
    }
    Py_DECREF(beat);
    return next == NULL ? -1 : 1;
}

static PyObject *
mark_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Mark *self = (Mark *)object;
    if (PyVectorcall_NARGS(nargsf) < 1) {
        PyErr_SetString(PyExc_TypeError, "the optimizer is missing");
        return NULL;
    }
    switch (end_step(self, args[0])) {
    case 1:
        Py_RETURN_NONE;
    case 0:
        return PyObject_CallOneArg(self->mark, args[0]);
    default:
        return NULL;
    }
}

static int
mark_traverse(PyObject *object, visitproc visit, void *arg)
{
    Mark *self = (Mark *)object;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->mark);
    Py_VISIT(self->front);
    Py_VISIT(self->places.beat);
    return 0;
}

static int
mark_clear(PyObject *object)
{
    Mark *self = (Mark *)object;
    Py_CLEAR(self->mark);
    Py_CLEAR(self->front);
    Py_CLEAR(self->places.beat);
    return 0;
}

static void
mark_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    mark_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
mark_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"mark", "front", "beat", "doing", NULL};
    PyObject *mark, *front;
    PyTypeObject *beat, *doing;
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "OOO!O!:Mark", names, &mark, &front, &PyType_Type, &beat, &PyType_Type,
            &doing)) {
        return NULL;
    }
    Mark *self = (Mark *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = mark_call;
    self->marks = offset_of(Py_TYPE(front), "marks");
    if (self->marks < 0 || find_places(&self->places, beat, doing) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->mark = Py_NewRef(mark);
    self->front = Py_NewRef(front);
    return (PyObject *)self;
}

static PyMemberDef mark_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Mark, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot mark_slots[] = {
    {Py_tp_doc, "What an optimizer calls after its update: see `hub.updated`."},
    {Py_tp_new, mark_new},
    {Py_tp_dealloc, mark_dealloc},
    {Py_tp_traverse, mark_traverse},
    {Py_tp_clear, mark_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, mark_members},
    {0, NULL},
};

static PyType_Spec mark_spec = {
    .name = "asyncguard.runtime._quick.Mark",
    .basicsize = sizeof(Mark),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = mark_slots,
};

/* ---- the module ---- */

static PyObject *
references(PyObject *module, PyObject *const *args, Py_ssize_t number)
{
    if (number != 1) {
        PyErr_SetString(PyExc_TypeError, "one value is expected");
        return NULL;
    }
    return PyLong_FromSsize_t(Py_REFCNT(args[0]) + 1); /* as if it were the result, too */
}

static PyMethodDef functions[] = {
    {"references", (PyCFunction)(void (*)(void))references, METH_FASTCALL,
     "How often a value is held that a read gives back itself, and nothing but its call holds."},
    {NULL, NULL, 0, NULL},
};

static int
execute(PyObject *module)
{
    if ((name_append = PyUnicode_InternFromString("append")) == NULL
        || (name_failed = PyUnicode_InternFromString("failed")) == NULL
        || (name_gave_itself = PyUnicode_InternFromString("gave_itself")) == NULL
        || (name_look = PyUnicode_InternFromString("look")) == NULL) {
        return -1;
    }
    if (PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        return -1;
    }
    PyType_Spec *specs[] = {&read_spec, &mark_spec};
    for (size_t at = 0; at < Py_ARRAY_LENGTH(specs); at++) {
        PyObject *type = PyType_FromSpec(specs[at]);
        if (type == NULL || PyModule_AddType(module, (PyTypeObject *)type) < 0) {
            Py_XDECREF(type);
            return -1;
        }
        Py_DECREF(type);
    }
    return 0;
}

/* The interned names above are the process's: only its main interpreter may load this, from 3.12 on
   others run the short way of `reads.py`. (Before that they share interned strings with it.) */
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "asyncguard.runtime._quick",
    .m_doc = "The short way of reads and marks, compiled.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__quick(void)
{
    return PyModuleDef_Init(&definition);
}
