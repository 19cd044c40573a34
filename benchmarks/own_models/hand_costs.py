def errors(): return {"x": 0.0}
