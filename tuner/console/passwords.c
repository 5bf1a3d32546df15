/* passwords.c - finds passwords in words and sentences by their look; see passwords.h.  To read an
 * address as libpq does (cluster/pq.c) takes libpq, and sentences hold more than an address. */
#include "console/passwords.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char mark[] = "***";

/* Puts the mark between from and to, cut to the room there. */
static char *put_mark(char *from, char *to)
{
    const size_t room = (size_t)(to - from), length = room < strlen(mark) ? room : strlen(mark);

    memcpy(from, mark, length);
    memmove(from + length, to, strlen(to) + 1);
    return from + length;
}

/* Whether the text behind a colon in an address is a port or, up to a bracket, the rest of an IPv6
 * address.  An @ behind these belongs to the path. */
static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");

    return strchr("/?,#", text[digits]) || strcspn(text, "]") < strcspn(text, "/@");
}

/* The password of user:password@ in the address whose user begins here; NULL: there is no
 * password. */
static char *find_credentials(char *user, char **end)
{
    const size_t length = strcspn(user, " \t\n\"");
    char *colon = user;

    *end = memrchr(user, '@', length);
    while (*end && (colon = memchr(colon, ':', (size_t)(*end - colon))) && is_port(colon + 1))
        colon++;
    return *end && colon && *end > colon + 1 ? colon + 1 : NULL;
}

/* Reads one letter, which may be escaped (%70 is p).  Returns how many characters it takes in the
 * text. */
static size_t read_letter(const char *text, char *letter)
{
    const bool escaped =
        *text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
    const char digits[] = {escaped ? text[1] : '0', escaped ? text[2] : '0', '\0'};

    *letter = escaped ? (char)strtol(digits, NULL, 16) : *text;
    return escaped ? 3 : 1;
}

/* The text behind "password =", in capitals or not, if the key begins here; else NULL. */
static char *behind_key(char *text)
{
    char letter;

    for (const char *key = "password"; *key; key++) {
        text += read_letter(text, &letter);
        if (tolower((unsigned char)letter) != *key)
            return NULL;
    }
    text += strspn(text, " \t");
    return *text == '=' ? text + 1 + strspn(text + 1, " \t") : NULL;
}

/* The end of a value; for 'a quoted value' the closing quote.  A \ takes the character behind it
 * literally. */
static char *end_of_value(char *value)
{
    const bool quoted = *value == '\'';
    char *at = value + quoted;

    while (*at && (quoted ? *at != '\'' : !strchr(" \t\n&\"", *at)))
        at += *at == '\\' && at[1] ? 2 : 1;
    return at + (quoted && *at);
}

bool gt_passwords_mask(char *text)
{
    bool found = false;
    char *value, *end;

    for (char *at = text; *at; at++) {
        value = NULL;
        if (strncmp(at, "://", 3) == 0 && (value = find_credentials(at + 3, &end)))
            at = value;
        else if ((value = behind_key(at)) && (end = end_of_value(value)) > value)
            at = value;
        else
            continue;
        found = true;
        at = put_mark(value, end) - 1;
    }
    return found;
}

int gt_passwords_refuse(const char *word, struct gt_err *err)
{
    char *copy = word ? strdup(word) : NULL;
    const bool found = copy && gt_passwords_mask(copy);

    if (word && !copy)
        return gt_err_nomem(err);
    free(copy);
    return found ? gt_err_set(err, GT_ESYNTAX,
                              "the address of the queue has a password in it, which others could "
                              "read; put it into ~/.pgpass (see PostgreSQL's manual, The Password "
                              "File)")
                 : GT_OK;
}
