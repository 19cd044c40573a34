#define PACKAGE_VERSION "1.1.1"
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_FCNTL_H 1
#define HAVE_UNISTD_H 1
#define COMPLEX_FLOAT float _Complex
#define REAL_FLOAT float
#define MAX_UNSIGNED unsigned long long
#define IMAGINARY 1.0fi
