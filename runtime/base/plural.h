/* plural.h: the number of nouns in messages. */
#ifndef CT_PLURAL_H
#define CT_PLURAL_H

#include "base.h"

/* Puts nouns after the number 1 in the singular, in place, and their verbs: "1 arguments are" becomes "1 argument is",
   "there are 1 modes" becomes "there is 1 mode". So formats say "%d arguments are". The nouns are those of messages.
   "rank 1 launches" stays as it is. The text grows no longer. */
void ct_agree(char *text);

#endif
