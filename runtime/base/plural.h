/* plural.h: the number of nouns in messages. */
#ifndef CT_PLURAL_H
#define CT_PLURAL_H

#include "base.h"

/* Takes the plural from nouns after the number 1, in place: "1 arguments" becomes "1 argument". So formats say "%d
   arguments". The nouns are those of messages. "rank 1 launches" stays as it is. */
void ct_agree(char *text);

#endif
