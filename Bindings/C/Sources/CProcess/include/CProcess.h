/* What the library does about fork() and exit(). */
#ifndef CPROCESS_H
#define CPROCESS_H

/* Begins and ends a call of the library. No process forks in between. */
void process_enter(void);
void process_leave(void);

#endif
